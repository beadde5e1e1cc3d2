package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// everyKind has mistakes of each kind, in functions of each kind. What it prints tells them apart.
const everyKind = `package main

import (
	"errors"
	"fmt"
)

type flag bool

type box[K comparable] struct{ n int }

func (b *box[_]) add(_ int, more ...int) {
	b.n += len(more)
}

func (box[K]) same(a, _ K, b K) bool { return a == b && 1 < 2 }

func sum[N int | float64](a, b N) (total N) {
	total = a + b
	return
}

var start = first() + 1

func first() int { return 3 - 1 }

func less(a, b int) (yes flag) {
	if a < b || a > 10 { // one expression, several mistakes
		return true
	}
	return a <= b
}

func fails(err error) (int, error) {
	func() {
		if err != nil {
			err = fmt.Errorf("again: %w", err)
		}
	}()
	return 1, err
}

func guarded(n int) (text string) {
	defer caught(&text, n)
	panic("thrown")
}

func caught(text *string, n int) {
	if n > 0 {
		*text = fmt.Sprint(recover(), n+1)
	}
	recover()
}

func count(n int) (c int) {
	for i := 0; i < n; i++ {
		c++
	}
	return c
}

var state []string

func init() {
	state = append(state, "init")
}

func two(int, string) (int, string) { return count(2) + 1, "two" }

func main() {
	b := &box[string]{}
	b.add(1, 2, 3)
	fmt.Println(b.n, b.same("x", "y", "x"), sum(1, 2), sum(1.5, 2), start)
	fmt.Println(less(1, 2), less(2, 2), less(3, 2), less(11, 2))
	fmt.Println(fails(nil))
	fmt.Println(fails(errors.New("e")))
	fmt.Println(count(3), state, guarded(2))
	fmt.Println(two(1, ""))
	func() {
		defer func() { fmt.Println(recover()) }()
		fmt.Println(guarded(0))
	}()
}
`

// TestSwitchedMistakes: a program with all mistakes behind switches does as the original if none is made, and as the
// original with the mistake in it if one is made: one of each kind, or all under stress.
func TestSwitchedMistakes(t *testing.T) {
	module(t, map[string]string{"p/p.go": everyKind})
	check, all := mistakes(t, "p/p.go")
	files, alone, err := switchAll(check, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 30 || len(alone) < 2 || len(alone) > 6 {
		t.Errorf("%d of %d mistakes are alone", len(alone), len(all))
	}
	left := map[int]bool{}
	for _, m := range alone {
		left[m.id] = true
		if !strings.Contains(m.what, "recover") && !strings.Contains(m.what, "n > 0") && !strings.Contains(m.what, "n+1") && !strings.Contains(m.what, "first() + 1") {
			t.Errorf("alone: %s", m.what)
		}
	}
	together := built(t, files)
	if got, want := says(t, together, 0), says(t, built(t, nil), 0); got != want {
		t.Errorf("without a mistake:\n%s\ninstead of\n%s", got, want)
	}
	tried := map[string]bool{}
	for _, m := range all {
		kind, _, _ := strings.Cut(m.what, " ")
		if left[m.id] || tried[kind] && !require.Stressed() {
			continue
		}
		tried[kind] = true
		with := says(t, built(t, map[string][]byte{m.file: m.apply([]byte(everyKind))}), 0)
		if got := says(t, together, m.id); got != with {
			t.Errorf("%s, line %d:\n%s\ninstead of\n%s", m.what, m.line, got, with)
		}
	}
}

// built is the program of p, with these files.
func built(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	name, err := overlay(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "p"), "-overlay", name, "./p").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "p")
}

// says is what a program prints with a mistake.
func says(t *testing.T, program string, id int) string {
	t.Helper()
	name := fmt.Sprintf("%s.%d", program, id)
	if err := os.Link(program, name); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(name).CombinedOutput()
	text, _, _ := strings.Cut(string(out), "goroutine ") // which stacks are different
	return fmt.Sprint(text, err)
}
