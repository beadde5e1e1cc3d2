package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/secure"
)

// masterFlags are how a command finds its cluster.
type masterFlags struct {
	master string
	user   string
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

// config fills in who we are.
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

func (m *masterFlags) define(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&m.master, "master", os.Getenv("MILLRACE_MASTER"), "address of the master (default: $MILLRACE_MASTER)")
	m.key.define(f)
	f.StringVar(&m.key.cert, "cert", os.Getenv("MILLRACE_CERT"), "file with a certificate of the cluster (default: $MILLRACE_CERT)")
	f.StringVar(&m.user, "as", os.Getenv("MILLRACE_USER"), "user to act as (default: $MILLRACE_USER, else the current user)")
}

// connect returns a client of the cluster that the flags name; the caller closes it.
func (m *masterFlags) connect() (*client.Client, error) {
	cfg, err := m.key.config(client.Config{Master: m.master, User: m.user})
	if err != nil {
		return nil, failed(err)
	}
	cl, err := client.New(cfg)
	if err == nil && len(cfg.Cert) > 0 {
		m.renewInTime(cl, cfg.Cert)
	}
	return cl, err
}

// renewPatience is how long a command waits for a new certificate that it does not need yet.
const renewPatience = 3 * time.Second

// renewInTime replaces a certificate of which half of its life is over. Where that fails the command goes on; when the end
// is near it says so.
func (m *masterFlags) renewInTime(cl *client.Client, cert []byte) {
	end, half, err := secure.Ends(cert, time.Now())
	if err != nil || !half {
		return // what is wrong with it the first call says
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewPatience)
	defer cancel()
	if err := cl.Renew(ctx, m.key.cert); err != nil && time.Until(end) < 60*24*time.Hour {
		fmt.Fprintf(os.Stderr, "millrace: the certificate ends on %s and cannot be renewed: %v\n", end.Format(time.DateOnly), err)
	}
}
