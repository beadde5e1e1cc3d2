package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
)

func newHealth() *cobra.Command {
	var m masterFlags
	cmd := &cobra.Command{
		Use:     "health",
		Short:   "Say whether a master or worker answers; for health checks of containers",
		Example: "  millrace health --master 127.0.0.1:7070",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := m.key.client(client.Config{Master: m.master, User: m.user, Patience: 2 * time.Second})
			if err != nil {
				return err
			}
			defer cl.Close()
			text, err := cl.Health(cmd.Context())
			if err != nil {
				return failed(err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), text)
			return nil
		},
	}
	m.define(cmd)
	return cmd
}
