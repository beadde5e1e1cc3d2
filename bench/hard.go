package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A HardCase is input that breaks engines: skew, a giant record, a flood of keys or of files. It passes if the result
// is right, memory stays within its budget, and speed does not collapse.
type HardCase struct {
	ID   string
	What string
	// make writes the input below dir and returns the --input words and its size.
	make func(s Setup, dir string) (bytes int64, err error)
	job  string
	// records is the right number of output records; nil: as many as the input has lines.
	records func(s Setup) int64
	sorted  bool // the output must be sorted lines
}

// A HardRow is a measured hard case.
type HardRow struct {
	ID      string        `json:"id"`
	What    string        `json:"what"`
	Job     string        `json:"job"`
	Bytes   int64         `json:"bytes"`
	Wall    time.Duration `json:"wall_ns"`
	PeakRSS int64         `json:"peak_rss_bytes"`
	// RSSRatio is peak memory over the budget of 256 MiB.
	RSSRatio float64 `json:"rss_ratio"`
	Spills   int64   `json:"spills"`
	Right    bool    `json:"right"`
	Why      string  `json:"why,omitempty"`
}

// HardCases lists the cases.
func HardCases() []HardCase {
	return []HardCase{
		{
			ID: "zipf-keys", What: "sort of key-value lines, keys by Zipf's law (exponent 1.2)", job: "sort", sorted: true,
			make: func(s Setup, dir string) (int64, error) { return s.records(dir, "--skew", "1.2") },
		},
		{
			ID: "half-key", What: "sort of key-value lines, one key has half of the bytes", job: "sort", sorted: true,
			make: func(s Setup, dir string) (int64, error) { return s.records(dir, "--hot", "0.5") },
		},
		{
			ID: "distinct-keys", What: "wordcount of 10,000,000 different words, each once", job: "wordcount",
			make:    func(s Setup, dir string) (int64, error) { return distinctWords(dir, s.distinct()) },
			records: func(s Setup) int64 { return s.distinct() },
		},
		{
			ID: "giant-record", What: "sort of lines, one of which is 60 MB long", job: "sort", sorted: true,
			make: giantLine,
		},
		{
			ID: "tiny-files", What: "wordcount of 20,000 files of 1 KB", job: "wordcount",
			make:    func(s Setup, dir string) (int64, error) { return tinyFiles(dir, 20_000) },
			records: func(Setup) int64 { return 20_000 },
		},
	}
}

func (s Setup) distinct() int64 { return min(10_000_000, s.Size/100) }

func (s Setup) records(dir string, flags ...string) (int64, error) {
	args := append([]string{"gen", "records", "--size", fmt.Sprint(s.Size)}, flags...)
	out, err := exec.Command(s.Self, append(args, filepath.Join(dir, "records.tsv"))...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("make records: %w: %s", err, out)
	}
	return s.Size, nil
}

// distinctWords writes n words of 9 letters in an order that is not sorted: a walk
// with a step that shares no factor with n reaches each number once.
func distinctWords(dir string, n int64) (int64, error) {
	return writeFile(filepath.Join(dir, "words.txt"), func(w *bufio.Writer) {
		step := int64(7_368_787) // a prime
		for i, x := int64(0), int64(0); i < n; i, x = i+1, (x+step)%n {
			fmt.Fprintf(w, "w%08d\n", x)
		}
	})
}

const smallLines = 1000

func giantLine(_ Setup, dir string) (int64, error) {
	return writeFile(filepath.Join(dir, "lines.txt"), func(w *bufio.Writer) {
		for i := range smallLines {
			fmt.Fprintf(w, "before %d\n", i)
		}
		chunk := bytes.Repeat([]byte("giant "), 1000)
		for n := 0; n < 60_000_000; n += len(chunk) {
			_, _ = w.Write(chunk)
		}
		for i := range smallLines {
			fmt.Fprintf(w, "\nafter %d", i)
		}
	})
}

func tinyFiles(dir string, n int) (int64, error) {
	var total int64
	for i := range n {
		size, err := writeFile(filepath.Join(dir, fmt.Sprintf("%05d.txt", i)), func(w *bufio.Writer) {
			for range 100 {
				fmt.Fprintf(w, "word%05d\n", i)
			}
		})
		if err != nil {
			return 0, err
		}
		total += size
	}
	return total, nil
}

// writeFile leaves errors of the writer to its Flush.
func writeFile(name string, fill func(w *bufio.Writer)) (int64, error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	fill(w)
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return f.Seek(0, io.SeekCurrent)
}

// RunHard measures the hard cases.
func RunHard(ctx context.Context, s Setup, progress func(HardCase)) ([]HardRow, error) {
	s = s.withDefaults()
	return inTurn(s.Dir, HardCases(), func(c HardCase) (string, HardRow, error) {
		progress(c)
		row, err := s.runHard(ctx, c)
		return c.ID, row, err
	})
}

func (s Setup) runHard(ctx context.Context, c HardCase) (HardRow, error) {
	dir, err := os.MkdirTemp(s.Dir, "hard-")
	if err != nil {
		return HardRow{}, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.Mkdir(in, 0o755); err != nil {
		return HardRow{}, err
	}
	row := HardRow{ID: c.ID, What: c.What, Job: c.job}
	if row.Bytes, err = c.make(s, in); err != nil {
		return row, err
	}
	cmd := exec.CommandContext(ctx, s.Self, "run", c.job, "--input", in, "--output", out, "--memory", "256MiB", "--scratch", dir, "--json")
	start := time.Now()
	stdout, err := cmd.Output()
	row.Wall = time.Since(start)
	if err != nil {
		return row, fmt.Errorf("%w: %s", err, stdout)
	}
	row.PeakRSS = peakMemory(cmd.ProcessState)
	row.RSSRatio = float64(row.PeakRSS) / sortBudget
	return row, row.check(c, s, stdout, in, out)
}

// check compares the output with what is known about it.
func (r *HardRow) check(c HardCase, s Setup, stdout []byte, in, out string) error {
	var report struct {
		Counters map[string]int64 `json:"counters"`
	}
	if err := json.Unmarshal(stdout, &report); err != nil {
		return fmt.Errorf("read the report: %w", err)
	}
	r.Spills = report.Counters["spills"]
	lines, sorted, err := readLines(out)
	if err != nil {
		return err
	}
	want, err := c.expect(s, in)
	if err != nil {
		return err
	}
	switch {
	case lines != want:
		r.Why = fmt.Sprintf("%d records came out, want %d", lines, want)
	case c.sorted && !sorted:
		r.Why = "the output is not sorted"
	default:
		r.Right = true
	}
	return nil
}

func (c HardCase) expect(s Setup, in string) (int64, error) {
	if c.records != nil {
		return c.records(s), nil
	}
	lines, _, err := readLines(in)
	return lines, err
}

// readLines counts the lines of all visible files and reports whether they are in order, as far as their first bytes
// tell. It holds no line whole: the system would count this process's memory as that of the processes that it starts.
func readLines(dir string) (lines int64, sorted bool, err error) {
	parts, err := filepath.Glob(filepath.Join(dir, "[^_.]*"))
	if err != nil {
		return 0, false, err
	}
	o := lineOrder{sorted: true}
	for _, p := range parts {
		f, err := os.Open(p)
		if err != nil {
			return 0, false, err
		}
		o.read(bufio.NewReaderSize(f, lineHead))
		f.Close()
	}
	return o.lines, o.sorted, nil
}

// lineHead is how much of a line is compared.
const lineHead = 64 << 10

type lineOrder struct {
	lines  int64
	sorted bool
	last   []byte
}

func (o *lineOrder) read(r *bufio.Reader) {
	for inside := false; ; {
		piece, err := r.ReadSlice('\n')
		if len(piece) > 0 && !inside {
			head := bytes.TrimSuffix(piece, []byte{'\n'})
			o.sorted = o.sorted && bytes.Compare(o.last, head) <= 0
			o.last = append(o.last[:0], head...)
			o.lines++
		}
		if inside = err == bufio.ErrBufferFull; err != nil && !inside { //nolint:errorlint // once for every line, and ReadSlice returns it bare
			return
		}
	}
}
