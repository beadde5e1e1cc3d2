package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/web"
)

func newDashboard() *cobra.Command {
	var m masterFlags
	var listen, reports string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Serve the dashboard of a cluster to the browser of this machine",
		Long: `Serve the dashboard of a cluster to the browser of this machine.

A cluster without a key serves it itself, at http://ADDRESS-OF-THE-MASTER/. One with a key asks for a certificate,
which browsers do not have: this command has one, and serves only a browser that opens the address that it prints.`,
		Example: "  millrace dashboard --master 10.0.0.1:7070 --key cluster.key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := secure.CheckLoopback(listen); err != nil {
				return err
			}
			cfg := web.Config{}
			if reports != "" {
				root, err := os.OpenRoot(reports) // links that lead out of it are not followed
				if err != nil {
					return fmt.Errorf("--reports: %w (millrace lab run all --out %s makes a directory of them)", err, reports)
				}
				defer root.Close()
				cfg.Reports = root.FS()
			}
			c, err := m.connect(nil)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.Nodes(cmd.Context()); err != nil { // fail now rather than on a page
				return failed(err)
			}
			cfg.Call = c.Call
			cfg.Player = func(ctx context.Context) ([]byte, error) { return playerOf(ctx, c) }
			return serveDashboard(cmd, listen, web.New(cfg))
		},
	}
	m.define(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address to listen on; of this machine only")
	cmd.Flags().StringVar(&reports, "reports", "", "directory with reports of the laboratory to show too")
	return cmd
}

func serveDashboard(cmd *cobra.Command, listen string, h http.Handler) error {
	word := rand.Text()
	srv := &http.Server{Handler: guard(word, h), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	return servePages(cmd, listen, srv, "dashboard: http://%s/?word="+word+"\n(Ctrl-C ends it)\n")
}

// servePages serves pages until a signal comes. ready is what it prints when it accepts connections, with the address
// as %s.
func servePages(cmd *cobra.Command, listen string, srv *http.Server, ready string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return failed(fmt.Errorf("%w (--listen takes another address)", err))
	}
	fmt.Fprintf(cmd.OutOrStdout(), ready, l.Addr())
	stop := context.AfterFunc(cmd.Context(), func() { _ = srv.Close() }) // Serve says so
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return failed(err)
	}
	return nil
}

// guard admits those who know the word, because others have accounts on this machine, too. The browser keeps it in a
// cookie, so that it stays in no address.
func guard(word string, h http.Handler) http.Handler {
	const name = "millrace-word"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := rpc.ThisMachine(r); err != nil {
			rpc.WriteError(w, err)
			return
		}
		if rpc.SameSecret(r.URL.Query().Get("word"), word) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: word, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/"+strings.TrimLeft(r.URL.Path, `/\`), http.StatusSeeOther) // two slashes begin the name of another machine
			return
		}
		if c, err := r.Cookie(name); err != nil || !rpc.SameSecret(c.Value, word) {
			http.Error(w, "Open the address that millrace dashboard has printed: it holds a word that lets you in.", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// maxPlayed bounds the log that the dashboard holds in memory to play it.
const maxPlayed = 64 << 20

// A playedLog is a log that is played.
type playedLog struct{ bytes.Buffer }

func (l *playedLog) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxPlayed {
		return 0, fmt.Errorf("the decision log has more than %d MiB: too much for this page (millrace scheduler log --export FILE, then millrace play FILE)", maxPlayed>>20)
	}
	return l.Buffer.Write(p)
}

// playerOf returns the page that plays what a cluster's policies decided.
func playerOf(ctx context.Context, c *client.Client) ([]byte, error) {
	var log playedLog
	var page bytes.Buffer
	if _, err := exportDecisions(ctx, c, &log); err != nil {
		return nil, err
	}
	tape, err := tapeOfLog(log.Bytes(), "the log of "+c.Addr())
	if err != nil {
		return nil, err
	}
	err = play.Write(&page, "/", "decisions of the cluster of "+c.Addr(), tape)
	return page.Bytes(), err
}

// dashboard makes the pages of a master.
func dashboard(call func(ctx context.Context, method string, req, resp any) error) http.Handler {
	return web.New(web.Config{Call: call})
}
