package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

func newKeygen() *cobra.Command {
	return &cobra.Command{
		Use:     "keygen FILE",
		Short:   "Make the key of a cluster: whoever has it can join and administer the cluster",
		Example: "  millrace cluster keygen cluster.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return failed(err)
			}
			_, err = fmt.Fprintln(f, secure.Generate())
			if err := errors.Join(err, f.Close()); err != nil {
				return failed(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s holds the key; give it to master and workers with --key, or as MILLRACE_KEY\n", human.Printable(args[0]))
			return nil
		},
	}
}

func newCert() *cobra.Command {
	var key keyFlags
	var admin bool
	cmd := &cobra.Command{
		Use:     "cert USER",
		Short:   "Make a certificate for a user who is not to have the key",
		Example: "  millrace cluster cert ann --key cluster.key > ann.pem",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := key.load()
			if err != nil {
				return failed(err)
			}
			if k == nil {
				return errors.New("no key: give --key FILE or set MILLRACE_KEY")
			}
			if err := secure.CheckUser(args[0]); err != nil {
				return err
			}
			role := secure.User
			if admin {
				role = secure.Admin
			}
			pem, err := k.PEM(role, args[0], "")
			if err == nil {
				err = writePrivate(cmd.OutOrStdout(), pem)
			}
			return failed(err)
		},
	}
	key.define(cmd.Flags())
	cmd.Flags().BoolVar(&admin, "admin", false, "the user may change the cluster")
	return cmd
}

// writePrivate writes what only the owner may read. If a shell has made the file readable by others, writePrivate first
// takes their rights.
func writePrivate(w io.Writer, text []byte) error {
	if f, ok := w.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			if err := f.Chmod(0o600); err != nil {
				return fmt.Errorf("%s would be readable by others: %w", f.Name(), err)
			}
		}
	}
	_, err := w.Write(text)
	return err
}

func newRenew() *cobra.Command {
	var m masterFlags
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Get a new certificate in the place of one that is still good",
		Long: `Asks the master for a new certificate for the same user, and puts it into the file of the old one. Commands do so by
themselves when half of a certificate's life is over. One that has ended, or is revoked, is not renewed: an administrator makes
a new one (millrace cluster cert).`,
		Example: "  millrace cluster renew --cert ann.pem",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.key.cert == "" || m.key.key != "" {
				return errors.New("renew: give --cert FILE, and no key")
			}
			return withClient(&m, func(cl *client.Client) error {
				if err := cl.Renew(cmd.Context(), m.key.cert); err != nil {
					return err
				}
				text, err := os.ReadFile(m.key.cert)
				if err != nil {
					return err
				}
				end, _, err := secure.Ends(text, time.Now())
				fmt.Fprintf(cmd.OutOrStdout(), "the certificate of %s in %s is good until %s\n", human.Printable(cl.User()), human.Printable(m.key.cert), end.Format(time.DateOnly))
				return err
			})
		},
	}
	m.define(cmd)
	return cmd
}

func newRevoke() *cobra.Command {
	var m masterFlags
	var cancel bool
	cmd := &cobra.Command{
		Use:   "revoke USER",
		Short: "Make the certificates that a user has now good for nothing",
		Long: `Notes in the key file that the certificates that a user has now are revoked. Daemons that use this file follow within
seconds; give the others a copy. Connections that are open are refused, too. A certificate that millrace cluster cert
makes later is good again. Jobs of the user go on, with all that they may do, unless --cancel-jobs ends them.`,
		Example: "  millrace cluster revoke ann --key cluster.key --cancel-jobs --master 10.0.0.1:7070",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			probe, err := revoke(&m.key, args[0])
			if err != nil {
				return failed(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "certificates that %s has now are revoked in %s; give the other machines of the cluster a copy of it\n", human.Printable(args[0]), human.Printable(m.key.key))
			noteStranger(cmd, &m, args[0])
			if !cancel {
				return nil
			}
			return withClient(&m, func(cl *client.Client) error { return cancelJobs(cmd, cl, m.master, args[0], probe) })
		},
	}
	m.define(cmd)
	cmd.Flags().BoolVar(&cancel, "cancel-jobs", false, "end the user's jobs, too, as soon as the master takes no more from the user")
	return cmd
}

// revoke records a revocation in the key file. It returns a certificate that the user could have had until now.
func revoke(key *keyFlags, user string) (probe []byte, err error) {
	k, err := key.load()
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, errors.New("no key: give --key FILE or set MILLRACE_KEY")
	}
	if probe, err = k.PEM(secure.User, user, ""); err != nil {
		return nil, err
	}
	return probe, secure.Revoke(key.key, user, time.Now())
}

// strangerPatience is how long a master may take to list the users it knows.
const strangerPatience = 3 * time.Second

// noteStranger warns if the master, where one is given and answers, does not know a user: the name may be mistyped.
func noteStranger(cmd *cobra.Command, m *masterFlags, user string) {
	if m.master == "" {
		return
	}
	cl, err := m.connect(nil)
	if err != nil {
		return // the file is what counts
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), strangerPatience)
	defer cancel()
	list, err := cl.Users(ctx)
	if err == nil && !slices.ContainsFunc(list, func(s wire.UserStatus) bool { return s.User == user }) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: no user %s has files, jobs or limits on %s: is the name right?\n", human.Printable(user), m.master)
	}
}

// revokePatience is how long a master may take to read its key file again.
const revokePatience = 30 * time.Second

// cancelJobs kills the jobs of a user whose certificates are revoked. First it waits until the master refuses probe,
// one of these: after that no more jobs come.
func cancelJobs(cmd *cobra.Command, cl *client.Client, master, user string, probe []byte) error {
	revoked, err := client.New(client.Config{Master: master, Cert: probe})
	if err != nil {
		return err
	}
	defer revoked.Close()
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		_, err := revoked.Nodes(cmd.Context())
		if wire.KindOf(err) == wire.Denied && err != nil {
			break
		}
		if err != nil {
			return err
		}
		if time.Since(begin) > revokePatience {
			return fmt.Errorf("the master still serves %s after %s: give it a copy of the key file and say this again; no job was ended", user, revokePatience)
		}
	}
	list, err := cl.Active(cmd.Context())
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].User != user {
			continue
		}
		if err := cl.Kill(cmd.Context(), list[i].Job, "the certificates of "+user+" are revoked"); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is ended\n", list[i].Job)
	}
	return nil
}
