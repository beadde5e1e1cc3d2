package lab

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/chart"
)

// WriteFiles writes report.html, report.json and report.csv into a directory, which it
// makes, and below it each figure as SVG and its data as CSV.
func WriteFiles(dir string, p Page) error {
	if err := os.MkdirAll(filepath.Join(dir, "figures"), 0o755); err != nil {
		return err
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.html", func(w io.Writer) error { return WriteHTML(w, p) }},
		{"report.json", func(w io.Writer) error { return writeJSON(w, p.Reports) }},
		{"report.csv", func(w io.Writer) error { return writeCSV(w, p.Reports) }},
	}
	for _, f := range files {
		if err := writeFile(filepath.Join(dir, f.name), f.write); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	for _, r := range p.Reports {
		for _, f := range r.Figures {
			if f.Chart == nil {
				continue // kept: the file is there
			}
			if err := writeFigure(filepath.Join(dir, "figures", FigureFile(r, f)), f); err != nil {
				return fmt.Errorf("write figure %s: %w", f.Name, err)
			}
		}
	}
	return nil
}

func writeFigure(path string, f Figure) error {
	return errors.Join(
		writeFile(path+".svg", func(w io.Writer) error {
			_, err := io.WriteString(w, chart.File(f.Chart))
			return err
		}),
		writeFile(path+".csv", func(w io.Writer) error { return csv.NewWriter(w).WriteAll(chart.Table(f.Chart)) }))
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func writeJSON(w io.Writer, reports []Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(reports)
}

// writeCSV writes the checks or, for a comparison, which checks nothing, its first table.
func writeCSV(w io.Writer, reports []Report) error {
	c := csv.NewWriter(w)
	if len(reports) > 0 && reports[0].ID == comparison && len(reports[0].Tables) > 0 {
		t := reports[0].Tables[0]
		return c.WriteAll(append([][]string{t.Head}, t.Rows...))
	}
	_ = c.Write([]string{"experiment", "item", "published", "measured", "accepted", "verdict", "remark"})
	for _, r := range reports {
		for _, k := range r.Checks {
			_ = c.Write([]string{r.ID, k.Item, k.Published, k.Measured, k.Tolerance, string(k.Verdict), k.Why})
		}
	}
	c.Flush()
	return c.Error() // it keeps the first error of Write
}
