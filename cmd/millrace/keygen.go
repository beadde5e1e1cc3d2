package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/secure"
)

func newKeygen() *cobra.Command {
	return &cobra.Command{
		Use:     "keygen FILE",
		Short:   "Make the key of a cluster: who has it can join and administer",
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
			fmt.Fprintf(cmd.OutOrStdout(), "%s holds the key; give it to master and workers with --key, or as MILLRACE_KEY\n", args[0])
			return nil
		},
	}
}

func newCert() *cobra.Command {
	var key keyFlags
	var admin bool
	cmd := &cobra.Command{
		Use:     "cert USER",
		Short:   "Make a certificate for a user who shall not have the key",
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
			role := secure.User
			if admin {
				role = secure.Admin
			}
			pem, err := k.PEM(role, args[0], "")
			if err != nil {
				return failed(err)
			}
			_, err = cmd.OutOrStdout().Write(pem)
			return failed(err)
		},
	}
	key.define(cmd.Flags())
	cmd.Flags().BoolVar(&admin, "admin", false, "the user may change the cluster")
	return cmd
}
