package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/millrace/millrace/internal/wire"
)

// TestTablesFit: at every width a table keeps to it and breaks no word.
func TestTablesFit(t *testing.T) {
	rows := []table.Row{
		{"job-1", "a name of several words", "somebody", 12, "2026-11-16 15:24:26"},
		{"job-1000", "short", "me", 1234567, "never"},
	}
	for _, columns := range []string{"", "40", "60", "75", "100", "200"} {
		t.Setenv("COLUMNS", columns)
		var out bytes.Buffer
		tab := newTable(&out, "job", "name", "user", "attempts", "submitted")
		for _, r := range rows {
			tab.AppendRow(r)
		}
		tab.Render()
		room := roomOf(&out)
		words := strings.Fields(strings.ToLower(out.String()))
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); room > 0 && n > room {
				t.Errorf("%d columns: %d in %q", room, n, line)
			}
		}
		for _, w := range []string{"attempts", "submitted", "several", "job-1000", "somebody", "1234567", "15:24:26"} {
			if !slices.Contains(words, w) {
				t.Errorf("%d columns: %q is broken:\n%s", room, w, &out)
			}
		}
	}
}

// fits COMMAND... runs a command that prints tables, and wants them to keep to 60 and to 100 columns.
func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fits COMMAND [ARG]...")
	}
	for _, columns := range []int{60, 100, 1000} {
		ts.Setenv("COLUMNS", fmt.Sprint(columns))
		ts.Check(ts.Exec(args[0], args[1:]...))
		out := ts.ReadFile("stdout")
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns && strings.ContainsAny(line, "│┌├└") {
				ts.Fatalf("%d columns, and a line has %d: %s", columns, n, line)
			}
		}
		if columns == 1000 && !strings.Contains(out, "│") { // where there is less room it may be a list
			ts.Fatalf("this is no table:\n%s", out)
		}
	}
	ts.Setenv("COLUMNS", "")
}

// TestTablesOfLongCells: where a table becomes a list, lines that a cell was broken into are put together again, keep to the width and stand
// below one another.
func TestTablesOfLongCells(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	var out bytes.Buffer
	tab := newTable(&out, "policy", "what it does", "an-empty-column-of-one-word")
	tab.AppendRow(table.Row{"fair", "equal shares between jobs,   \nusers, pools or queues", ""})
	tab.AppendRow(table.Row{"a-name-of-one-word-that-fits-no-column", "short", 7})
	tab.Render()
	const want = `policy                       fair
what it does                 equal
                             shares
                             between
                             jobs,
                             users,
                             pools or
                             queues

policy                       a-name-of-one-word-that-fits-no-column
what it does                 short
an-empty-column-of-one-word  7

`
	if out.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", &out, want)
	}
}

// TestEmptyColumns: a column that no row fills is left out where there is no room for it, and only there.
func TestEmptyColumns(t *testing.T) {
	for columns, has := range map[string]bool{"30": true, "24": false} {
		t.Setenv("COLUMNS", columns)
		var out bytes.Buffer
		tab := newTable(&out, "job", "queue", "state")
		tab.AppendRow(table.Row{"job-1", "", "FAILED"})
		tab.Render()
		if got := out.String(); strings.Contains(got, "QUEUE") != has || !strings.Contains(got, "│ job-1 │") || !strings.Contains(got, "FAILED │") {
			t.Errorf("%s columns:\n%s", columns, got)
		}
	}
}

// TestNetShowsCircuits: which racks have one, or that none has, and when they are matched anew; nothing without a switch.
func TestNetShowsCircuits(t *testing.T) {
	s := wire.NetStatus{Racks: []wire.NetRack{{Rack: "r1", Circuit: "r2", To: []int64{0, 0}}, {Rack: "r2", To: []int64{0, 0}}}, CircuitMillis: 500, RematchMillis: 120}
	show := func() string {
		var out strings.Builder
		printNet(&out, &s)
		return out.String()
	}
	if got := show(); !strings.Contains(got, "│ r1           │ r2 │") || strings.Contains(got, "│ r2           │") || !strings.Contains(got, "circuits are matched anew every 500ms, next in 120ms") {
		t.Errorf("one circuit:\n%s", got)
	}
	s.Racks[0].Circuit = ""
	if got := show(); !strings.Contains(got, "no rack had a circuit when its workers reported last\ncircuits are matched anew") {
		t.Errorf("no circuit:\n%s", got)
	}
	s.CircuitMillis = 0
	if got := show(); strings.Contains(got, "circuit") {
		t.Errorf("no switch:\n%s", got)
	}
}
