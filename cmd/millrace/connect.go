package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
)

// masterFlags are how a command finds its cluster.
type masterFlags struct {
	master string
	user   string
}

func (m *masterFlags) define(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&m.master, "master", os.Getenv("MILLRACE_MASTER"), "address of the master (default: $MILLRACE_MASTER)")
	f.StringVar(&m.user, "as", os.Getenv("MILLRACE_USER"), "user to act as (default: who runs this, or $MILLRACE_USER)")
}

// connect returns a client of the cluster that the flags name; the caller closes it.
func (m *masterFlags) connect() (*client.Client, error) {
	return client.New(client.Config{Master: m.master, User: m.user})
}
