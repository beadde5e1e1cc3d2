package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/launch"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/jobs/textgen"
	"github.com/millrace/millrace/local"
)

func newDemo() *cobra.Command {
	d := demo{size: 64 << 20}
	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "A tour in one process: count words, sort a hundred megabytes, compare schedulers",
		Example: "  millrace demo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if d.size < 1000 {
				return fmt.Errorf("--size is %d, must be at least 1000", d.size)
			}
			d.cmd, d.out = cmd, cmd.OutOrStdout()
			mode, err := console.ParseMode(d.progress)
			if err != nil {
				return err
			}
			d.mode = mode
			return failed(d.run())
		},
	}
	cmd.Flags().StringVar(&d.dir, "dir", demoDir(), "directory for data and results; replaced")
	cmd.Flags().Var(&d.size, "size", "size of the text")
	cmd.Flags().StringVar(&d.progress, "progress", "auto", "auto, bar, plain or none")
	return cmd
}

// demoDir returns the default directory of the demo. It is the user's own, even if somebody else has run the demo here.
func demoDir() string {
	dir := filepath.Join(os.TempDir(), "millrace-demo")
	if info, err := os.Stat(dir); err == nil && !disk.Ours(info) {
		return fmt.Sprintf("%s-%d", dir, os.Getuid())
	}
	return dir
}

type demo struct {
	cmd      *cobra.Command
	out      io.Writer
	dir      string
	size     jobs.ByteSize
	progress string
	mode     console.Mode
}

// marker is the name of the file that marks a directory as a demo's, which may be replaced.
const marker = ".millrace-demo"

func (d *demo) run() error {
	if err := d.clear(); err != nil {
		return err
	}
	for _, step := range []func() error{d.text, d.words, d.sorted, d.scheduled, d.next} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// clear makes the directory anew. It refuses to remove what no demo made.
func (d *demo) clear() error {
	if info, err := os.Stat(d.dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: choose a directory with --dir", d.dir)
	}
	entries, err := os.ReadDir(d.dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(d.dir, marker)); err != nil {
			return fmt.Errorf("%s is not empty and not a demo's: choose another with --dir", d.dir)
		}
		if err := os.RemoveAll(d.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, marker), nil, 0o644)
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) text() error {
	d.say("1. A text of %s: words as frequent as in any language, a few common, most rare.", human.Bytes(int64(d.size)))
	g, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		return err
	}
	o := genOptions{size: d.size, overwrite: true, progress: d.progress}
	d.cmd.SetErr(io.Discard)
	err = o.write(d.cmd, d.path("words.txt"), textgen.BlockBytes, int64(d.size), g.Fill)
	d.cmd.SetErr(nil)
	return err
}

func (d *demo) words() error {
	d.say("\n2. WordCount, then the most frequent words.")
	res, err := d.job("wordcount", "--input", d.path("words.txt"), "--output", d.path("counts"))
	if err != nil {
		return err
	}
	console.Summary(d.out, res)
	if _, err := d.job("topk", "--k", "10", "--input", d.path("words.txt"), "--output", d.path("top")); err != nil {
		return err
	}
	return d.chart(d.path("top"))
}

// chart draws "count TAB word" lines as bars.
func (d *demo) chart(dir string) error {
	f, err := os.Open(filepath.Join(dir, "part-r-00000"))
	if err != nil {
		return err
	}
	defer f.Close()
	d.say("")
	var most int64
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var n int64
		var word string
		if _, err := fmt.Sscanf(lines.Text(), "%d\t%s", &n, &word); err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
		most = max(most, n)
		d.say("   %-14s %9s %s", word, human.Count(n), strings.Repeat("█", int(40*n/most)))
	}
	return lines.Err()
}

func (d *demo) sorted() error {
	d.say("\n3. TeraSort: a million rows of 100 bytes, sorted in 32 MiB of memory, then checked.")
	if _, err := d.job("teragen", "--rows", "1000000", "--output", d.path("rows")); err != nil {
		return err
	}
	res, err := d.jobIn(32<<20, "terasort", "--input", d.path("rows"), "--output", d.path("sorted"))
	if err != nil {
		return err
	}
	console.Summary(d.out, res)
	if _, err := d.job("teravalidate", "--input", d.path("sorted"), "--output", d.path("check")); err != nil {
		return err
	}
	return launch.PrintParts(indented{d.out}, d.path("check"))
}

// scheduled compares policies in the simulator: the same jobs, the same cluster.
func (d *demo) scheduled() error {
	d.say("\n4. Scheduling: 300 jobs as Facebook had them, on 40 simulated nodes, under four policies.")
	d.say("   How much longer than alone does a job take, in the worst twentieth of cases?\n")
	o := defaultSim()
	o.trace, o.scale, o.heartbeat, o.policies, o.params = "gen:fb-2010:300", 0.05, 0, []string{"fifo", "fair", "fbq", "srpt"}, []string{"fbq.limits=400"}
	topo, err := o.check()
	if err != nil {
		return err
	}
	jobs, err := o.readSource()
	if err != nil {
		return err
	}
	for _, a := range o.arms {
		r, err := o.simulate(topo, a, jobs, o.seed)
		if err != nil {
			return err
		}
		worst := r.Metrics.Slowdown.P95
		d.say("   %-14s %9.2f %s", a.name, worst, strings.Repeat("█", int(10*worst)))
	}
	return nil
}

// indented indents the lines that it is given.
type indented struct{ to io.Writer }

func (w indented) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		if _, err := io.WriteString(w.to, "  "+line); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (d *demo) next() error {
	d.say(`
Everything is in %s
  words and counts   head %s
  sorted rows        ls -l %s
Try next:
  %[5]s run grep --pattern '[a-z]*oo[a-z]*' --input %[4]s --output matches
  %[5]s run --help
  %[5]s lab run deadline-goals`,
		d.dir, d.path("counts/part-r-00000"), d.path("sorted"), d.path("words.txt"), selfName(os.Args[0]))
	return nil
}

// selfName returns how to call this program again: as it was called, or by the go command if that built it for this run
// only.
func selfName(called string) string {
	if strings.Contains(called, "/go-build") {
		return "go run ./cmd/millrace"
	}
	return called
}

func (d *demo) job(name string, words ...string) (local.Result, error) {
	return d.jobIn(local.DefaultMemory, name, words...)
}

func (d *demo) jobIn(memory int64, name string, words ...string) (local.Result, error) {
	stages, err := jobs.Parse(name, words)
	if err != nil {
		return local.Result{}, err
	}
	r, err := local.New(local.Config{Memory: memory, Scratch: d.dir})
	if err != nil {
		return local.Result{}, err
	}
	stop := console.Watch(os.Stderr, d.mode, r.Progress)
	defer stop()
	return r.Run(d.cmd.Context(), stages...)
}
