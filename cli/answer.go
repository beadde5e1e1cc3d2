package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// withJSON adds the flag --json to a command; what says what it prints.
func withJSON(cmd *cobra.Command, into *bool, what string) *cobra.Command {
	cmd.Flags().BoolVar(into, "json", false, "print "+what)
	return cmd
}

// answer prints the answer to a question: as JSON, or as show writes it.
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

// printJSON prints one value, indented for readers.
func printJSON(cmd *cobra.Command, v any) error {
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}
