package lab

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFiles writes report.html, report.json and report.csv into a directory, which it
// makes.
func WriteFiles(dir string, reports []Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer, []Report) error{
		"report.html": WriteHTML, "report.json": writeJSON, "report.csv": writeCSV,
	} {
		if err := writeFile(filepath.Join(dir, name), reports, write); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

func writeFile(path string, reports []Report, write func(io.Writer, []Report) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f, reports), f.Close())
}

func writeJSON(w io.Writer, reports []Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(reports)
}

func writeCSV(w io.Writer, reports []Report) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"experiment", "item", "published", "measured", "accepted", "verdict", "remark"})
	for _, r := range reports {
		for _, k := range r.Checks {
			_ = c.Write([]string{r.ID, k.Item, k.Published, k.Measured, k.Tolerance, string(k.Verdict), k.Why})
		}
	}
	c.Flush()
	return c.Error() // it keeps the first error of Write
}
