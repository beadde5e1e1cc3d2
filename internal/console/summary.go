package console

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// Summary prints what a run did, in a few lines that fit any terminal.
func Summary(w io.Writer, res local.Result) {
	for _, s := range res.Stages {
		fmt.Fprintf(w, "%s: %s\n", human.Printable(s.Job), phases(s))
		fmt.Fprintf(w, "  read     %s\n", amount(s.Counts, mapreduce.MapInputRecords, mapreduce.MapInputBytes))
		if s.Reduces > 0 {
			fmt.Fprintf(w, "  emitted  %s\n", amount(s.Counts, mapreduce.MapOutputRecords, mapreduce.MapOutputBytes))
			fmt.Fprintf(w, "  shuffled %s%s\n", amount(s.Counts, mapreduce.ShuffleRecords, mapreduce.ShuffleBytes), spills(s.Counts))
			if moved := Travelled(s.Counts); moved != "" {
				fmt.Fprintf(w, "  moved    %s\n", moved)
			}
		}
		fmt.Fprintf(w, "  wrote    %s\n", amount(s.Counts, mapreduce.OutputRecords, mapreduce.OutputBytes))
	}
	for _, bad := range res.Skipped {
		fmt.Fprintf(w, "  skipped  %s at offset %d: %s\n", human.Printable(bad.File), bad.Offset, human.Printable(bad.Reason))
	}
	users(w, res.Counts)
	retries := ""
	if res.Retries > 0 {
		retries = fmt.Sprintf(", %d of %d attempts failed and were tried again", res.Retries, res.Attempts)
	}
	where := ""
	if res.Output != "" {
		where = " Output: " + human.Printable(res.Output)
	}
	fmt.Fprintf(w, "done in %s%s.%s\n", human.Duration(res.Elapsed), retries, where)
}

func phases(s local.StageResult) string {
	if s.Map == 0 { // on a cluster the phases overlap
		return human.Many(int64(s.Maps), "map") + ", " + human.Many(int64(s.Reduces), "reduce")
	}
	parts := []string{fmt.Sprintf("%s in %s", human.Many(int64(s.Maps), "map"), human.Duration(s.Map))}
	if s.Reduces > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s", human.Many(int64(s.Reduces), "reduce"), human.Duration(s.Reduce)))
	}
	if rest := s.Plan + s.Commit; rest > 100*time.Millisecond {
		parts = append(parts, fmt.Sprintf("plan and commit in %s", human.Duration(rest)))
	}
	return strings.Join(parts, ", ")
}

func amount(c mapreduce.Counts, records, bytes string) string {
	return fmt.Sprintf("%s, %s", human.Many(c.Get(mapreduce.TaskGroup, records), "record"), human.Bytes(c.Get(mapreduce.TaskGroup, bytes)))
}

func spills(c mapreduce.Counts) string {
	if n := c.Get(mapreduce.TaskGroup, mapreduce.Spills); n > 0 {
		return fmt.Sprintf(", %s of %s", human.Many(n, "spill"), human.Bytes(c.Get(mapreduce.TaskGroup, mapreduce.SpilledBytes)))
	}
	return ", in memory"
}

// Travelled returns how map output reached the reduces of a cluster, or nothing if there was none, or no cluster.
func Travelled(c mapreduce.Counts) string {
	node, rack, remote := c.Get(mapreduce.TaskGroup, mapreduce.ShuffleNodeBytes), c.Get(mapreduce.TaskGroup, mapreduce.ShuffleRackBytes), c.Get(mapreduce.TaskGroup, mapreduce.ShuffleRemoteBytes)
	if node+rack+remote == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s inside racks, %s between racks; %s stayed on their nodes", human.Bytes(rack+remote), human.Bytes(rack), human.Bytes(remote), human.Bytes(node))
}

// users prints the counters that user code made.
func users(w io.Writer, counts mapreduce.Counts) {
	counts.Each(func(group, name string, n int64) {
		if group != mapreduce.TaskGroup {
			fmt.Fprintf(w, "  %s.%s = %s\n", human.Printable(group), human.Printable(name), human.Count(n))
		}
	})
}

// Report is the JSON object that a run prints for programs.
type Report struct {
	Job      string           `json:"job"`
	State    wire.JobState    `json:"state"` // SUCCEEDED, FAILED or CANCELLED
	Elapsed  float64          `json:"elapsed_s"`
	Counters map[string]int64 `json:"counters"` // built-in by name, others as group.name
	// Output is the directory. It is empty unless the run SUCCEEDED, and if the result was only shown.
	Output string `json:"output"`
	// Rounds is how many rounds a loop made.
	Rounds int `json:"rounds,omitempty"`
	// Unfinished says that a loop has used up its rounds but would continue.
	Unfinished bool `json:"unfinished,omitempty"`
	// Result is what the job found, if that is short: pi, teravalidate.
	Result map[string]any `json:"result,omitempty"`
	// Stages are the jobs of a chain, each with its own counters; empty for a single job.
	Stages []StageReport `json:"stages,omitempty"`
	Error  string        `json:"error,omitempty"`
}

// StageReport is one job of a chain.
type StageReport struct {
	Job      string           `json:"job"`
	Maps     int              `json:"maps"`
	Reduces  int              `json:"reduces"`
	Counters map[string]int64 `json:"counters"`
}

// stagesOf describes the jobs of a chain.
func stagesOf(res local.Result) (out []StageReport) {
	if len(res.Stages) < 2 {
		return nil
	}
	for _, s := range res.Stages {
		out = append(out, StageReport{s.Job, s.Maps, s.Reduces, Flatten(s.Counts)})
	}
	return out
}

// Flatten returns counters with one name each.
func Flatten(c mapreduce.Counts) map[string]int64 {
	out := map[string]int64{}
	c.Each(func(group, name string, n int64) {
		if group != mapreduce.TaskGroup {
			name = group + "." + name
		}
		out[name] = n
	})
	return out
}

// WriteJSON prints the report on one line.
func (r Report) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(r)
}
