package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
)

// A simCase is one scenario of a sweep, or the only one.
type simCase struct {
	*simOptions
	over   []string // keys that are swept
	values []string // of them
	topo   *topology.Topology
}

// name returns what distinguishes the scenario from the others: "load=0.1 nodes=20".
func (c *simCase) name() string {
	var parts []string
	for i, key := range c.over {
		parts = append(parts, key+"="+c.values[i])
	}
	return strings.Join(parts, " ")
}

// cases returns a scenario for each combination of values of the keys that are ranges.
func (o *simOptions) cases(data []byte, given func(flag string) bool) ([]*simCase, error) {
	s, err := readScenario(o.file, data)
	if err != nil {
		return nil, err
	}
	swept := s.swept[:0:0]
	total := 1
	for _, k := range s.swept {
		k.at.Value = k.nodes[0]
		if given(k.key) {
			continue // the flag overrides the key
		}
		if total *= len(k.values); total > mostArms {
			return nil, s.wrong(k.nodes[0], "%s: the ranges make %d scenarios, at most %d; take larger steps", k.key, total, mostArms)
		}
		swept = append(swept, k)
	}
	var out []*simCase
	for i := range total {
		one := *o
		c := &simCase{simOptions: &one}
		for j, rest := len(swept)-1, i; j >= 0; j-- {
			k := &swept[j]
			n := rest % len(k.values)
			rest /= len(k.values)
			k.at.Value = k.nodes[n]
			c.over, c.values = append([]string{k.key}, c.over...), append([]string{k.values[n]}, c.values...)
		}
		one.noTape = i > 0
		if err := one.takeScenario(s, given); err != nil {
			return nil, err
		}
		if n := total * max(len(one.arms), 1); len(swept) > 0 && n > mostArms {
			return nil, s.wrong(swept[0].nodes[0], "%s: %d scenarios with %d policies each are %d runs, at most %d; take larger steps", swept[0].key, total, len(one.arms), n, mostArms)
		}
		out = append(out, c)
	}
	return out, nil
}

func countRuns(cases []*simCase) (n int) {
	for _, c := range cases {
		n += len(c.arms) * c.seeds
	}
	return n
}

// compareCases runs every policy of every scenario with every seed.
func compareCases(cmd *cobra.Command, cases []*simCase, source *workload) ([]*simRun, error) {
	type run struct {
		of   *simCase
		arm  arm
		seed uint64
	}
	var todo []run
	for _, c := range cases {
		for _, a := range c.arms {
			for i := range uint64(c.seeds) {
				todo = append(todo, run{c, a, c.seed + i})
			}
		}
	}
	return runAll(cmd, len(todo), func(i int) (*simRun, error) {
		t := todo[i]
		r, err := t.of.simulate(t.of.topo, t.arm, source, t.seed)
		if err != nil {
			return nil, named(strings.TrimSpace(t.of.name()+" "+t.arm.name), err)
		}
		r.of, r.swept = t.of, t.of.values
		return r, nil
	})
}

// runsOf returns the runs of a scenario.
func (c *simCase) runsOf(runs []*simRun) (out []*simRun, done []compare.Run) {
	for _, r := range runs {
		if r.of == c {
			out = append(out, r)
		}
	}
	return out, doneOf(out)
}

// report prints and writes the results.
func (o *simOptions) report(cmd *cobra.Command, cases []*simCase, source *workload, runs []*simRun) error {
	if err := o.print(cmd, cases, runs); err != nil {
		return err
	}
	if o.history != "" {
		if err := runs[0].of.writeHistory(runs[0].of.topo, runs); err != nil {
			return err
		}
	}
	if o.out == "" {
		return nil
	}
	if err := lab.WriteFiles(o.out, lab.Page{Title: "millrace simulation", Reports: reportsOf(cases, source, runs)}); err != nil {
		return err
	}
	if err := writeRows(o.out, cases[0].over, runs); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", human.Printable(filepath.Join(o.out, "report.html")))
	page := filepath.Join(o.out, "play.html")
	if err := writePlay(page, cases[0].setup(source), cases[0].tapes(runs)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "player: %s\n", page)
	return nil
}

// print prints a table, or JSON, for each scenario.
func (o *simOptions) print(cmd *cobra.Command, cases []*simCase, runs []*simRun) error {
	type sweptResult struct {
		Values   map[string]string     `json:"values"`
		Policies map[string]*simResult `json:"policies"`
	}
	var all []sweptResult
	for _, c := range cases {
		mine, _ := c.runsOf(runs)
		if len(mine) == 0 {
			continue
		}
		if !o.asJSON {
			if c.over != nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s:\n", c.name())
			}
			printRuns(cmd.OutOrStdout(), mine, c.metrics())
			continue
		}
		values := map[string]string{}
		for i, key := range c.over {
			values[key] = c.values[i]
		}
		all = append(all, sweptResult{values, resultsOf(mine)})
	}
	switch {
	case !o.asJSON:
		return nil
	case cases[0].over == nil:
		return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"policies": all[0].Policies})
	}
	return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"scenarios": all})
}

// setup describes what was simulated.
func (c *simCase) setup(source *workload) string {
	from := c.trace
	if c.jobs != nil {
		from = c.file
	}
	return fmt.Sprintf("%s of %s on %s; seed %d.", human.Many(int64(source.len()), "job"), from, c.clusterText(), c.seed)
}

// clusterText describes the simulated cluster.
func (o *simOptions) clusterText() string {
	each := fmt.Sprintf("with %s each", human.Many(int64(o.containers), "container"))
	if o.more.Classes != nil || o.more.MapSlots != nil {
		each = fmt.Sprintf("with room for %s in all", human.Many(int64(o.room()), "task"))
	}
	return fmt.Sprintf("%s in %s %s", human.Many(int64(o.nodes), "node"), human.Many(int64(o.racks), "rack"), each)
}

// reportsOf returns the sections of the page: for a sweep, first all scenarios side by side, then each by itself.
func reportsOf(cases []*simCase, source *workload, runs []*simRun) (out []lab.Report) {
	if first := cases[0]; first.over != nil {
		var beside []compare.Case
		for _, c := range cases {
			if _, done := c.runsOf(runs); len(done) > 0 {
				beside = append(beside, compare.Case{Values: c.values, Runs: done})
			}
		}
		out = append(out, lab.Swept(first.over, first.setup(source), beside, first.metrics()))
	}
	for _, c := range cases {
		_, done := c.runsOf(runs)
		if len(done) == 0 {
			continue
		}
		title := "Policies side by side"
		if c.over != nil {
			title = c.name()
		}
		r := c.chosen(lab.Compared(title, c.setup(source), done))
		if c.over != nil {
			r.ID = strings.NewReplacer(" ", "-", "=", "-").Replace(c.name())
		}
		out = append(out, r)
	}
	return out
}

// metrics returns the metrics that the file asks for; nil means all.
func (o *simOptions) metrics() []string {
	if o.more.Report == nil {
		return nil
	}
	return o.more.Report.Metrics
}
