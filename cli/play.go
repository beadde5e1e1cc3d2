package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

func newPlay() *cobra.Command {
	var listen, out string
	var traces []string
	cmd := &cobra.Command{
		Use: "play [FILE]", Short: "Watch scheduling decision by decision in the browser, and try policies against each other",
		Long: `Watch scheduling decision by decision in the browser: who gets the next container, why, and who else waited.

Without a file the page is a playground: choose a workload, a cluster and two policies with their parameters, run, watch,
change, run again. --trace offers a trace of yours, of any format that trace convert reads, among the workloads. A file is a description of a cluster as sim run --file reads it, of which the first two policies are
played, or the decision log of a live cluster (millrace scheduler log --export). --out writes one page that needs no server.`,
		Example: `  millrace play
  millrace play --trace day.tsv
  millrace play cluster.yaml
  millrace scheduler log --export day.jsonl && millrace play day.jsonl --out day.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && out != "":
				return errors.New("--out writes a page that plays a file: name the file")
			case len(args) == 0:
				return openPlayground(cmd, listen, traces)
			case len(traces) > 0:
				return fmt.Errorf("--trace offers a workload to the playground: leave %s out, or write trace: into it", args[0])
			}
			about, tapes, err := readTapes(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if out != "" {
				return failed(writePlay(out, about, tapes))
			}
			return servePage(cmd, listen, about, tapes)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8099", "address of the page; port 0 takes one that is free")
	cmd.Flags().StringVar(&out, "out", "", "write the page to this file instead of serving it")
	cmd.Flags().StringArrayVar(&traces, "trace", nil, "a trace to offer in the playground; may be given several times")
	return cmd
}

// servePage serves a page that plays recordings.
func servePage(cmd *cobra.Command, listen, about string, tapes []*play.Recording) error {
	var page bytes.Buffer
	if err := play.Write(&page, "", about, tapes...); err != nil {
		return failed(err)
	}
	return servePlay(cmd, listen, play.NewPage(page.Bytes()))
}

// openPlayground serves the playground, with the traces that it may read.
func openPlayground(cmd *cobra.Command, listen string, traces []string) error {
	var flags []string
	for _, name := range traces {
		if strings.HasPrefix(name, "gen:") {
			return fmt.Errorf("--trace %s: the page has the generated workloads anyway; name a file", name)
		}
		if _, err := readTraces("", name); err != nil { // fail before somebody chooses it
			return failed(fmt.Errorf("--trace: %w", err))
		}
		flags = append(flags, "--trace", name)
	}
	c := choices()
	c.Traces = append([]string{}, traces...) // a list, even if empty
	return servePlay(cmd, listen, play.NewPlayground(c, playApart(flags...), playApart(append(flags, "--sweep")...)))
}

// servePlay serves a page until a signal comes.
func servePlay(cmd *cobra.Command, listen string, page http.Handler) error {
	srv := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	return servePages(cmd, listen, srv, "open http://%s/ in a browser; Ctrl-C ends it\n")
}

// readTapes returns the recordings that a file describes or contains.
func readTapes(ctx context.Context, name string) (about string, tapes []*play.Recording, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", nil, failed(err)
	}
	if bytes.HasPrefix(data, []byte(`{"millrace_decisions"`)) {
		tape, err := tapeOfLog(data, name)
		return "decisions of a cluster, from " + filepath.Base(name), []*play.Recording{tape}, failed(err)
	}
	defer watchMemory(name, apartMemory)() // a policy may be a script
	return (&playing{name: name, files: true}).record(ctx, data)
}

// tapeOfLog replays the decision log of a live cluster, which restores the reasons.
func tapeOfLog(data []byte, name string) (*play.Recording, error) {
	var names, admits []string
	mk, stop := watchedNamed(name)
	defer stop()
	remember := func(policy, admission drive.Named) (scheduler.Policy, scheduler.Admission, error) {
		if policy.Name != "" {
			names = append(names, usersName(policy.Name, policy.Params))
		}
		if admission.Name != "" {
			admits = append(admits, admission.Name)
		}
		return mk(policy, admission)
	}
	tape := play.NewRecorder("", "")
	if _, err := drive.Follow(bytes.NewReader(data), name, remember, tape.Hear); err != nil {
		return nil, err
	}
	rec := tape.Recording()
	rec.Name, rec.Admission = inTurn(names), inTurn(admits)
	return rec, nil
}

// writePlay writes a page atomically.
func writePlay(name, about string, tapes []*play.Recording) error {
	var page bytes.Buffer
	if err := play.Write(&page, "", about, tapes...); err != nil {
		return err
	}
	return writeWhole(name, page.String())
}

// choices are what the playground offers.
func choices() play.Choices {
	c := play.Choices{Models: modelNames(), Lectures: play.Lectures()}
	c.Policies = append(c.Policies, play.Policy{
		Name: scriptPolicy, Summary: "a policy of your own, written here", Source: "docs/policies/write-your-own.md",
		Params: []play.Param{{Name: "code", Type: "code", Default: play.Example(), Doc: "Starlark, a small Python: key(job, node, now) or assign(node, cluster, now)"}},
	})
	for _, info := range policies.List() {
		p := play.Policy{Name: info.Name, Summary: info.Summary, Source: info.Source, Usual: info.UsualParams(nil)}
		for _, x := range info.Params() {
			p.Params = append(p.Params, playParam(&x))
		}
		switch info.Seam {
		case scheduler.Assignment:
			c.Policies = append(c.Policies, p)
		case scheduler.Admitting:
			c.Admissions = append(c.Admissions, p)
		}
	}
	return c
}

// playParam is a parameter as the page shows it.
func playParam(x *scheduler.Param) play.Param {
	p := play.Param{Name: x.Name, Type: string(x.Type), Default: x.Default, Range: x.Range(), Doc: x.Doc, Choices: x.Choices}
	if !math.IsInf(x.Min, 0) && !math.IsInf(x.Max, 0) && x.Max < 1e12 { // JSON has no other numbers, and a slider cannot span more
		p.Least, p.Most = x.Min, x.Max
	}
	return p
}
