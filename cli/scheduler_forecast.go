package cli

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

func newSchedulerForecast() *cobra.Command {
	var m masterFlags
	var asJSON bool
	var user string
	cmd := &cobra.Command{
		Use: "forecast NAME", Short: "Say what a cluster knows of the jobs of a name: what one with --recurring is taken to be",
		Example: "  millrace scheduler forecast nightly-report", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withClient(&m, func(cl *client.Client) error {
				f, err := cl.Forecast(cmd.Context(), wire.ForecastRequest{Name: args[0], User: user})
				return answer(cmd, asJSON, &f, err, printForecast)
			})
		},
	}
	m.define(cmd)
	cmd.Flags().StringVar(&user, "of", "", "whose jobs (default: your own)")
	return withJSON(cmd, &asJSON, "JSON")
}

func printForecast(w io.Writer, f *wire.Forecast) {
	t := newTable(w, "job", "made of", "maps", "reduces", "input", "shuffle", "time of a map", "of a reduce")
	for _, s := range f.Stages {
		t.AppendRow(table.Row{
			human.Printable(s.Name), human.Many(int64(s.Jobs), "job"), spread(s.Maps, number), spread(s.Reduces, number),
			spread(s.Input, byteText), spread(s.Shuffle, byteText), spread(s.MapMillis, millisText), spread(s.ReduceMillis, millisText),
		})
	}
	t.Render()
}

// spread writes a mean and, where it is not 0, the deviation.
func spread(s wire.Spread, text func(x float64) string) string {
	if s.Deviation == 0 {
		return text(s.Mean)
	}
	return text(s.Mean) + " ± " + text(s.Deviation)
}

func number(x float64) string     { return fmt.Sprintf("%.4g", x) }
func byteText(x float64) string   { return human.Bytes(int64(x)) }
func millisText(x float64) string { return fmt.Sprintf("%.3g s", x/1000) }
