package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace/millrace/storage"
)

// Config says how HDFS is found and asked.
type Config struct {
	// Conf is the directory of core-site.xml and hdfs-site.xml. Empty means that there is none.
	Conf string
	// User is who asks where a cluster believes what it is told (user.name).
	User string
	// Patience is how long a server that is on standby, in safe mode or out of reach is asked again. One that never
	// answered gets five seconds at most.
	Patience time.Duration
	// Stall is how long nothing may come from a server, or be taken by it, before the connection is given up.
	Stall time.Duration
	// Env returns variables of the environment, for ${env.X} in the configuration. Nil means none.
	Env func(string) (string, bool)
}

// Defaults of a Config.
const (
	DefaultPatience = 2 * time.Minute
	DefaultStall    = time.Minute
)

// strange is how long a server is asked that has never answered: more likely its name is wrong.
const strange = 5 * time.Second

// FromEnv returns the configuration of this process's user: HADOOP_CONF_DIR, or HADOOP_HOME/etc/hadoop if that is
// there, and HADOOP_USER_NAME, or the account.
func FromEnv() Config {
	c := Config{Conf: os.Getenv("HADOOP_CONF_DIR"), User: os.Getenv("HADOOP_USER_NAME"), Patience: DefaultPatience, Stall: DefaultStall, Env: os.LookupEnv}
	if home := os.Getenv("HADOOP_HOME"); c.Conf == "" && home != "" {
		dir := filepath.Join(home, "etc", "hadoop")
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			c.Conf = dir
		}
	}
	if c.User == "" {
		c.User, _ = account()
	}
	return c
}

// account returns the name of the process's user.
func account() (string, bool) {
	u, err := user.Current()
	if err != nil {
		return "", false
	}
	return u.Username, true
}

// A Service finds stores and connects to them. It is safe for concurrent use.
type Service struct {
	cfg    Config
	http   *http.Client
	reads  context.Context // of all reads and waiting; ended by Hurry
	hurry  context.CancelFunc
	config func() (*conf, error)

	mu     sync.Mutex // guards stores
	stores map[string]*store
}

// New returns a service. It asks nobody until a path needs it.
func New(cfg Config) *Service {
	s := &Service{cfg: cfg, http: &http.Client{Transport: transport(), CheckRedirect: byHand}, stores: map[string]*store{}}
	s.reads, s.hurry = context.WithCancel(context.Background())
	s.config = sync.OnceValues(func() (*conf, error) {
		if cfg.Conf == "" {
			return nil, nil
		}
		env := cfg.Env
		if env == nil {
			env = func(string) (string, bool) { return "", false }
		}
		return readConf(cfg.Conf, env)
	})
	return s
}

// transport connects directly, as Hadoop's own clients do, whatever proxy the environment names.
func transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, DisableCompression: true,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 20 * time.Second, ExpectContinueTimeout: 5 * time.Second,
	}
}

// byHand leaves redirections to the caller: the body must not be sent twice.
func byHand(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Schemes are those of the paths that a Service opens.
var Schemes = []string{"hdfs", "webhdfs", "swebhdfs"}

// Sites returns the stores of the Schemes, for a storage.Mux.
func (s *Service) Sites() map[string]storage.Sites {
	out := map[string]storage.Sites{"hdfs": func(authority string) (storage.FS, error) {
		c, err := s.config()
		if err != nil {
			return nil, err
		}
		at, err := c.site(authority)
		return s.store(at, err)
	}}
	for _, scheme := range []string{"webhdfs", "swebhdfs"} {
		out[scheme] = func(authority string) (storage.FS, error) {
			at, err := direct(scheme, authority)
			return s.store(at, err)
		}
	}
	return out
}

// store returns the one store of a site.
func (s *Service) store(at site, err error) (storage.FS, error) {
	if err != nil {
		return nil, err
	}
	key := fmt.Sprint(at.nodes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stores[key] == nil {
		s.stores[key] = &store{s: s, site: at}
	}
	return s.stores[key], nil
}

// Hurry ends what is being read, and all waiting: from then on a server is asked once. The owner of an interrupted job
// calls it, and can still remove what the job has written.
func (s *Service) Hurry() { s.hurry() }

// Close ends all reads and gives the connections back.
func (s *Service) Close() {
	s.hurry()
	s.http.CloseIdleConnections()
}
