package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// masterFlags are how a command finds its cluster.
type masterFlags struct {
	master string
	user   string
	umask  string // for commands that make files
	key    keyFlags
}

// keyFlags are how a process shows that it belongs to a cluster.
type keyFlags struct{ key, cert string }

func (k *keyFlags) define(f *pflag.FlagSet) {
	f.StringVar(&k.key, "key", os.Getenv("MILLRACE_KEY"), "file with the cluster's key (default: $MILLRACE_KEY)")
}

func (k *keyFlags) load() (*secure.Key, error) {
	if k.key == "" {
		return nil, nil
	}
	return secure.Load(k.key)
}

// config adds the caller's identity.
func (k *keyFlags) config(cfg client.Config) (client.Config, error) {
	var err error
	if cfg.Key, err = k.load(); err != nil {
		return cfg, err
	}
	if k.cert != "" && cfg.Key == nil {
		cfg.Cert, err = os.ReadFile(k.cert)
	}
	return cfg, err
}

// client returns a client with the caller's identity.
func (k *keyFlags) client(cfg client.Config) (*client.Client, error) {
	cfg, err := k.config(cfg)
	if err != nil {
		return nil, failed(err)
	}
	return client.New(cfg)
}

func (m *masterFlags) define(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&m.master, "master", os.Getenv("MILLRACE_MASTER"), "address of the master (default: $MILLRACE_MASTER)")
	m.key.define(f)
	f.StringVar(&m.key.cert, "cert", os.Getenv("MILLRACE_CERT"), "file with a certificate of the cluster (default: $MILLRACE_CERT)")
	f.StringVar(&m.user, "as", os.Getenv("MILLRACE_USER"), "user to act as (default: $MILLRACE_USER, else the current user)")
}

// defineUmask adds the flag for what a command makes in the block store.
func (m *masterFlags) defineUmask(f *pflag.FlagSet) {
	f.StringVar(&m.umask, "umask", os.Getenv("MILLRACE_UMASK"), "rights that new files and directories do not get, in octal (default: $MILLRACE_UMASK, else 022)")
}

// config returns the client configuration that the flags ask for.
func (m *masterFlags) config() (client.Config, error) {
	umask, err := wire.ParseUmask(m.umask)
	if err != nil {
		return client.Config{}, fmt.Errorf("--umask: %w", err)
	}
	cfg, err := m.key.config(client.Config{Master: m.master, User: m.user, Umask: umask})
	if err != nil {
		return cfg, failed(err)
	}
	return cfg, nil
}

// connect returns a client of the cluster that the flags name. store may change the configuration of its block store.
// The caller closes the client.
func (m *masterFlags) connect(store func(*dfs.Config)) (*client.Client, error) {
	cfg, err := m.config()
	if err != nil {
		return nil, err
	}
	cfg.DFS = store
	cl, err := client.New(cfg)
	if err == nil && len(cfg.Cert) > 0 {
		m.renewInTime(cl, cfg.Cert)
	}
	return cl, err
}

// renewPatience is how long a command waits for a new certificate that it does not need yet.
const renewPatience = 3 * time.Second

// renewInTime replaces a certificate that is past half of its life. If that fails the command goes on; when the end is
// near it says so.
func (m *masterFlags) renewInTime(cl *client.Client, cert []byte) {
	end, half, err := secure.Ends(cert, time.Now())
	if err != nil || !half {
		return // the first call says what is wrong with it
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewPatience)
	defer cancel()
	if err := cl.Renew(ctx, m.key.cert); err != nil && time.Until(end) < 60*24*time.Hour {
		fmt.Fprintf(os.Stderr, "millrace: the certificate ends on %s and cannot be renewed: %s\n", end.Format(time.DateOnly), human.ErrorText(err))
	}
}
