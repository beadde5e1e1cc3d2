package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/local"
)

// Mode says how progress is shown.
type Mode string

// The modes of the --progress flag.
const (
	Auto  Mode = "auto"  // a bar on a terminal, plain lines otherwise
	Plain Mode = "plain" // a line from time to time
	Bar   Mode = "bar"
	None  Mode = "none"
)

// ParseMode reads the value of a --progress flag.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Plain, Bar, None:
		return m, nil
	}
	return None, fmt.Errorf("progress %q is not one of auto, bar, plain, none", s)
}

// Choose settles Auto for a file.
func (m Mode) Choose(f *os.File) Mode {
	if m != Auto {
		return m
	}
	if Width(f) > 0 {
		return Bar
	}
	return Plain
}

// Width returns the columns of a terminal, or 0 for anything else.
func Width(f *os.File) int {
	n, ok := columns(f)
	if ok && n == 0 {
		return 80
	}
	return n
}

const (
	barEvery   = 100 * time.Millisecond
	plainEvery = 2 * time.Second
)

// Watch shows progress until the returned function is called, which leaves the
// terminal clean.
func Watch(f *os.File, mode Mode, progress func() local.Progress) (stop func()) {
	every := barEvery
	switch mode.Choose(f) {
	case None:
		return func() {}
	case Plain:
		every = plainEvery
		mode = Plain
	default:
		mode = Bar
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		watch(f, mode, every, progress, done)
	}()
	return func() { close(done); <-ended }
}

func watch(f *os.File, mode Mode, every time.Duration, progress func() local.Progress, done <-chan struct{}) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var eta estimator
	said := local.Progress{Stage: -1} // the last plain line
	for {
		select {
		case <-done:
			if mode == Bar {
				fmt.Fprint(f, "\r\x1b[K")
			}
			return
		case <-ticker.C:
			p := progress()
			if p.Phase == local.Finished {
				continue
			}
			left := eta.left(p)
			if mode == Bar {
				fmt.Fprint(f, "\r\x1b[K"+barLine(p, left, Width(f)-1))
			} else if news(said, p) {
				plainLine(f, p, left)
				said = p
			}
		}
	}
}

// news reports whether there is anything to say after the last line: in phases that have no measure there is not, once they
// have been named.
func news(said, p local.Progress) bool {
	return p.Phase != said.Phase || p.Stage != said.Stage || p.Total > 0 || p.TotalBytes > 0
}

const (
	barCells   = 24 // of the bar, where there is room
	shortCells = 10
	nameCells  = 16 // of a name that has to be shortened
)

// barLine draws "wordcount  map    ████████░░░░  67%  670 MiB/s  1.2s left  3 of 8 tasks" in so many
// columns, or without a bound if there are none. Where room is short it leaves out what matters least: first the
// counts, then most of the bar and of the name, then all of them. Phase, percentage, rate and time left stay.
func barLine(p local.Progress, left string, columns int) string {
	core := []string{fmt.Sprintf("%3.0f%%", 100*p.Fraction())}
	if left != "" {
		core = append(core, left)
	}
	var more []string
	if p.Retries > 0 {
		more = append(more, fmt.Sprintf("%d retries", p.Retries))
	}
	more = append(more, amounts(p)...)
	name, short := title(p), shortened(title(p))
	for n := len(more); n >= 0; n-- {
		if s := layOut(name, p, barCells, core, more[:n]); fits(s, columns) {
			return s
		}
	}
	for _, try := range []struct {
		name  string
		cells int
	}{{name, shortCells}, {short, shortCells}, {short, 0}, {"", 0}} {
		if s := layOut(try.name, p, try.cells, core, nil); fits(s, columns) {
			return s
		}
	}
	return clip(layOut("", p, 0, core, nil), columns)
}

func layOut(name string, p local.Progress, cells int, core, more []string) string {
	var b strings.Builder
	if name != "" {
		b.WriteString(name + "  ")
	}
	fmt.Fprintf(&b, "%-6s ", p.Phase)
	if cells > 0 {
		full := int(p.Fraction() * float64(cells))
		b.WriteString(strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " ")
	}
	b.WriteString(strings.Join(append(core[:len(core):len(core)], more...), "  "))
	return b.String()
}

func fits(s string, columns int) bool { return columns <= 0 || utf8.RuneCountInString(s) <= columns }

func clip(s string, columns int) string {
	r := []rune(s)
	if columns > 0 && len(r) > columns {
		return string(r[:columns])
	}
	return s
}

func shortened(name string) string {
	if fits(name, nameCells) {
		return name
	}
	return clip(name, nameCells-1) + "…"
}

func plainLine(w io.Writer, p local.Progress, left string) {
	parts := amounts(p)
	if left != "" {
		parts = append(parts, left)
	}
	if p.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%d retries", p.Retries))
	}
	fmt.Fprintf(w, "%s: %s %3.0f%%  %s\n", title(p), p.Phase, 100*p.Fraction(), strings.Join(parts, "  "))
}

func title(p local.Progress) string {
	if p.Stages > 1 {
		return fmt.Sprintf("%s [%d/%d]", human.Printable(p.Job), p.Stage, p.Stages)
	}
	return human.Printable(p.Job)
}

// amounts are the tasks and bytes of the phase.
func amounts(p local.Progress) (parts []string) {
	if p.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tasks", p.Done, p.Total))
	}
	if p.TotalBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", human.Bytes(p.Bytes), human.Bytes(p.TotalBytes)))
	}
	return parts
}

// estimator guesses rate and time left of the phase from its own beginning.
type estimator struct {
	stage int
	phase local.Phase
	began time.Duration
	first float64
}

func (e *estimator) left(p local.Progress) string {
	if e.stage != p.Stage || e.phase != p.Phase {
		*e = estimator{p.Stage, p.Phase, p.Elapsed, p.Fraction()}
		return ""
	}
	spent, gained := p.Elapsed-e.began, p.Fraction()-e.first
	if spent < 200*time.Millisecond || gained <= 0 {
		return ""
	}
	left := time.Duration(float64(spent) * (1 - p.Fraction()) / gained)
	rate := ""
	if p.TotalBytes > 0 {
		rate = human.Rate(int64(gained*float64(p.TotalBytes)), spent) + "  "
	}
	return rate + human.Duration(left.Round(100*time.Millisecond)) + " left"
}
