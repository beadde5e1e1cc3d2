package console

import (
	"fmt"
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

// ParseMode parses the value of a --progress flag.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case Auto, Plain, Bar, None:
		return m, nil
	}
	return None, fmt.Errorf("progress %q is not one of auto, bar, plain, none", s)
}

// Choose resolves Auto for a file.
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

// Watch shows progress until the returned function is called, which clears the progress line.
func Watch(f *os.File, mode Mode, progress func() local.Progress) (stop func()) {
	var eta estimator
	said := local.Progress{Stage: -1} // the last plain line
	return Lines(f, mode, func(mode Mode) string {
		p := progress()
		if p.Phase == local.Finished {
			return ""
		}
		left := eta.left(p)
		if mode == Bar {
			return barLine(p, left, Width(f)-1)
		}
		if !news(said, p) {
			return ""
		}
		said = p
		return plainLine(p, left)
	})
}

// Lines shows what line returns until the returned function is called: in place as Bar, one line below another as
// Plain. It shows no empty lines.
func Lines(f *os.File, mode Mode, line func(Mode) string) (stop func()) {
	mode = mode.Choose(f)
	every := barEvery
	switch mode {
	case None:
		return func() {}
	case Plain:
		every = plainEvery
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			switch s := line(mode); {
			case s == "":
			case mode == Bar:
				fmt.Fprint(f, wipe+s)
			default:
				fmt.Fprintln(f, s)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		fmt.Fprint(f, mode.Wipe())
	}
}

// wipe clears a line of a terminal.
const wipe = "\r\x1b[K"

// Wipe returns what to print before other lines while progress is shown.
func (m Mode) Wipe() string {
	if m == Bar {
		return wipe
	}
	return ""
}

// news reports whether anything but the time has changed since the last line.
func news(said, p local.Progress) bool {
	said.Elapsed, p.Elapsed = 0, 0
	return said != p
}

const (
	barCells   = 24 // of the bar, if there is room
	shortCells = 10
	nameCells  = 16 // of a shortened name
)

// barLine returns "wordcount  map    ████████░░░░  67%  670 MiB/s  1.2s left  3 of 8 tasks" in at most that many
// columns, or without a bound if that is 0. If room is short it leaves out what matters least: first the counts,
// then most of the bar and of the name, then all of both. Phase, percentage, rate and time left stay.
func barLine(p local.Progress, left string, columns int) string {
	core := []string{fmt.Sprintf("%3.0f%%", 100*p.Fraction())}
	if left != "" {
		core = append(core, left)
	}
	var more []string
	if p.Retries > 0 {
		more = append(more, retries(p.Retries))
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

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func plainLine(p local.Progress, left string) string {
	parts := amounts(p)
	if left != "" {
		parts = append(parts, left)
	}
	if p.Retries > 0 {
		parts = append(parts, retries(p.Retries))
	}
	return strings.TrimRight(fmt.Sprintf("%s: %s %3.0f%%  %s", title(p), p.Phase, 100*p.Fraction(), strings.Join(parts, "  ")), " ")
}

func title(p local.Progress) string {
	if p.Stages > 1 {
		return fmt.Sprintf("%s [%d/%d]", human.Printable(p.Job), p.Stage, p.Stages)
	}
	return human.Printable(p.Job)
}

// amounts returns the tasks and bytes of the phase.
func amounts(p local.Progress) (parts []string) {
	if p.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tasks", p.Done, p.Total))
	}
	if p.TotalBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", human.Bytes(p.Bytes), human.Bytes(p.TotalBytes)))
	}
	return parts
}

// estimator estimates rate and time left of the phase since its start.
type estimator struct {
	stage int
	phase local.Phase
	began time.Duration
	first float64
	shown Left
}

func (e *estimator) left(p local.Progress) string {
	if e.stage != p.Stage || e.phase != p.Phase {
		*e = estimator{stage: p.Stage, phase: p.Phase, began: p.Elapsed, first: p.Fraction()}
		return ""
	}
	spent, gained := p.Elapsed-e.began, p.Fraction()-e.first
	if spent < firstEstimate || gained <= 0 {
		return ""
	}
	left := e.shown.Next(time.Duration(float64(spent) * (1 - p.Fraction()) / gained))
	rate := ""
	if p.TotalBytes > 0 {
		rate = human.Rate(int64(gained*float64(p.TotalBytes)), spent) + "  "
	}
	return rate + left
}

// firstEstimate is how long a phase must have run before its rate says anything about its end.
const firstEstimate = 500 * time.Millisecond

// A Left is the time left as shown. It follows an estimate down. It follows it up only if the estimate has grown by
// a quarter and by a second: then work really has become slower and the estimate does not just fluctuate.
type Left struct{ shown time.Duration }

// Next takes an estimate and returns what to show.
func (l *Left) Next(left time.Duration) string {
	if l.shown == 0 || left < l.shown || left-l.shown > max(l.shown/4, time.Second) {
		l.shown = left
	}
	return human.Duration(l.shown.Round(100*time.Millisecond)) + " left"
}
