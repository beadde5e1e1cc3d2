package cli

import (
	"encoding/json"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
)

// experimentSettings are the settings of an experiment.
type experimentSettings struct {
	ID       string        `json:"id"`
	Settings []lab.Setting `json:"settings"`
}

// showSettings lists what --set may change of experiments.
func (o *labRun) showSettings(cmd *cobra.Command, ids []string) error {
	list, err := experiments(ids)
	if err != nil {
		return err
	}
	rows := []experimentSettings{}
	for _, e := range list {
		known, err := lab.Settings(cmd.Context(), e)
		if err != nil {
			return failed(err)
		}
		rows = append(rows, experimentSettings{e.ID, append([]lab.Setting{}, known...)}) // a list, even if empty
	}
	if o.asJSON {
		return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(rows))
	}
	t := newTable(cmd.OutOrStdout(), "experiment", "name", "its own", "meaning")
	for _, r := range rows {
		if len(r.Settings) == 0 {
			t.AppendRow(table.Row{r.ID, "", "", "nothing of its set-up can be changed"})
		}
		for _, s := range r.Settings {
			t.AppendRow(table.Row{r.ID, s.Name, fmt.Sprintf("%g", s.Own), s.Meaning})
		}
	}
	t.Render()
	return nil
}
