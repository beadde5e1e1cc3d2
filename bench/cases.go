package bench

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// A Case is one row of the speed table.
type Case struct {
	ID    string
	What  string
	Ours  Command
	Rival Command
	// Must and Aim bound ours divided by the rival, wall time; less is better.
	Must, Aim float64
	// CPU makes Must hold for CPU time too.
	CPU bool
	// Budget, if set, bounds our peak memory to 1.15 times itself.
	Budget int64
	// Rounds replaces the usual number of rounds.
	Rounds int
	// Absolute makes Must and Aim milliseconds of our own median; there is no rival.
	Absolute bool
	inputs   []string
}

// Setup is where and with what cases run.
type Setup struct {
	Dir      string // for data and output; reused between runs
	Self     string // the millrace binary
	Size     int64  // of the inputs: 1 GB in the published table
	Large    bool   // also the input of four times the size
	Rounds   int
	Parallel int // cores
}

// Cases lists the rows of the table.
func (s Setup) Cases() []Case {
	cases := []Case{
		s.sortCase("terasort", "terasort, 256 MiB of memory", rows, "terasort", s.Size, 0.60, 0.40),
		s.bareSortCase("terasort-memory", s.Size, 1.6),
		s.bareSortCase("terasort-256", min(s.Size, 256<<20), 1.3),
		s.sortCase("sort", "sort of text lines, 256 MiB of memory", text, "sort", s.Size, 0.80, 0.50),
		s.wordcount("wordcount-mawk", "mawk", 1.0/7, 1.0/13),
		s.wordcount("wordcount-bare", "bare", 2.5, 1.5),
		s.grepCase(),
		s.tinyCase(),
	}
	cases = append(cases, s.jobCases()...)
	for _, p := range regexps {
		cases = append(cases, s.regexpCase(p.id, p.expr, "--lines"), s.regexpCase(p.id+"-count", p.expr, ""))
	}
	if s.Large {
		large := s.sortCase("terasort-4x", "terasort of four times the input, 256 MiB of memory", rows, "terasort", 4*s.Size, 0.60, 0.40)
		cases = append(cases[:1:1], append([]Case{large}, cases[1:]...)...)
	}
	return cases
}

const sortBudget = 256 << 20

func (s Setup) path(name string) string { return filepath.Join(s.Dir, name) }

func (s Setup) run(job string, args ...string) Command {
	return Command{
		Name: "millrace",
		Args: append([]string{s.Self, "run", job, "--output", s.path("out-" + job), "--overwrite", "--progress", "none", "--scratch", s.Dir}, args...),
	}
}

func (s Setup) bare(args ...string) Command {
	return Command{Name: "bare Go", Args: append([]string{s.Self, "bare"}, args...)}
}

// sortCase compares with GNU sort on the same file.
func (s Setup) sortCase(id, what string, kind dataKind, job string, size int64, must, aim float64) Case {
	in := s.file(kind, size)
	return Case{
		ID: id, What: fmt.Sprintf("%s, %s", what, gigabytes(size)), inputs: []string{in}, Must: must, Aim: aim,
		CPU: kind == rows, Budget: sortBudget,
		Ours: s.run(job, "--input", in, "--memory", "256MiB"),
		Rival: Command{
			Name: "GNU sort", Env: []string{"LC_ALL=C"},
			Args: []string{"sort", "-S256M", fmt.Sprintf("--parallel=%d", s.Parallel), "-T", s.Dir, "-o", s.path("out-gnu"), in},
		},
	}
}

func (s Setup) bareSortCase(id string, size int64, must float64) Case {
	in := s.file(rows, size)
	return Case{
		ID: id, What: "terasort in memory (2 GiB), " + gigabytes(size), inputs: []string{in}, Must: must, Aim: 1.2,
		Ours:  s.run("terasort", "--input", in, "--memory", "2GiB"),
		Rival: s.bare("sort", in, s.path("out-bare")),
	}
}

const countWords = `{for(i=1;i<=NF;i++)c[$i]++}END{for(w in c)print w"\t"c[w]}`

func (s Setup) wordcount(id, rival string, must, aim float64) Case {
	in := s.file(text, s.Size)
	c := Case{
		ID: id, What: "wordcount, Zipf text of 100,000 words, " + gigabytes(s.Size), inputs: []string{in}, Must: must, Aim: aim,
		Ours: s.run("wordcount", "--input", in), Rival: s.bare("wordcount", in, s.path("out-bare")),
	}
	if rival == "mawk" {
		c.Rival = Command{Name: "mawk", Args: []string{"mawk", countWords, in}, Env: []string{"LC_ALL=C"}}
		c.Rounds = 1 // a round takes long, and noise is small beside the difference
	}
	return c
}

func (s Setup) grepCase() Case {
	in := s.file(text, s.Size)
	return Case{
		ID: "grep", What: "grep --fixed --lines, rare pattern, " + gigabytes(s.Size), inputs: []string{in}, Must: 1.0, Aim: 0.6,
		Ours:  s.run("grep", "--fixed", "--lines", "--pattern", rarePattern, "--input", in),
		Rival: Command{Name: "grep -F", Args: []string{"grep", "-F", rarePattern, in}, Env: []string{"LC_ALL=C"}, Okay: []int{1}},
	}
}

// regexps are kinds of expressions that engines find hard in different ways. All but the last match one line in twelve
// or six; the last matches nearly all lines.
var regexps = []struct{ id, expr, word string }{
	{"regexp-case", "(?i)thepa", "ThePatio"},
	{"regexp-literal", "[a-z]*shr[a-z]*", "mushroom"},
	{"regexp-word", `\bqu[a-z]+ing\b`, "quoting"},
	{"regexp-either", "(abc|xyz|qrs)[a-z]+", "dabchick"},
	{"regexp-suffix", "[a-z]+ing", "walking"},
	{"regexp-class", "q[aeiou]{2}z", "quiz"},
	{"regexp-most", "[a-z]+e[a-z]*", ""},
}

// regexpCase is grep for lines or, if lines is "", for all matches, which we also count.
func (s Setup) regexpCase(id, expr, lines string) Case {
	in := s.file(prose, s.Size)
	ours, theirs, plain := []string{"--pattern", expr, "--input", in}, []string{"grep", "-E"}, expr
	what := "grep and count " + expr
	if lines != "" {
		ours, what = append(ours, lines), "grep --lines "+expr
	} else {
		theirs = []string{"grep", "-oE"}
	}
	if word, ok := strings.CutPrefix(expr, "(?i)"); ok {
		theirs, plain = append(theirs, "-i"), word
	}
	return Case{
		ID: id, What: what + ", " + gigabytes(s.Size), inputs: []string{in}, Must: 3, Aim: 1.5, CPU: true,
		Ours:  s.run("grep", ours...),
		Rival: Command{Name: strings.Join(theirs, " "), Args: append(theirs, plain, in), Env: []string{"LC_ALL=C"}, Okay: []int{1}},
	}
}

// rarePattern is not in the text, but its letters are common.
const rarePattern = "tarotelanemil"

func (s Setup) tinyCase() Case {
	in := s.file(tiny, 1000)
	return Case{
		ID: "tiny", What: "tiny job (wordcount of 1 KB), cold process, median", inputs: []string{in}, Must: 10, Aim: 8,
		Absolute: true, Rounds: 21, Ours: s.run("wordcount", "--input", in),
	}
}

func gigabytes(n int64) string { return fmt.Sprintf("%.3g GB", float64(n)/1e9) }

// withDefaults sets what is not set.
func (s Setup) withDefaults() Setup {
	if s.Size == 0 {
		s.Size = 1e9
	}
	if s.Rounds == 0 {
		s.Rounds = 3
	}
	if s.Parallel == 0 {
		s.Parallel = runtime.GOMAXPROCS(0)
	}
	return s
}
