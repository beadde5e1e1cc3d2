package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// withJSON gives a command the flag --json, which prints what it says.
func withJSON(cmd *cobra.Command, into *bool, what string) *cobra.Command {
	cmd.Flags().BoolVar(into, "json", false, "print "+what)
	return cmd
}

// answer prints what a question to the cluster brought: as JSON, or as show writes it.
func answer[T any](cmd *cobra.Command, asJSON bool, v T, err error, show func(io.Writer, T)) error {
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd, v)
	}
	show(cmd.OutOrStdout(), v)
	return nil
}

// printJSON prints one value, indented, because users look at it anyway.
func printJSON(cmd *cobra.Command, v any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}
