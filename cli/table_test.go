package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"

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

// TestNetIsSorted: racks and nodes by name, and the matrix with them.
func TestNetIsSorted(t *testing.T) {
	s := wire.NetStatus{
		Racks: []wire.NetRack{{Rack: "r10", To: []int64{1, 2}}, {Rack: "r2", To: []int64{3, 4}}},
		Nodes: []wire.NetNode{{Node: "w10"}, {Node: "w1"}, {Node: "w9"}},
	}
	sortNet(&s)
	if s.Racks[0].Rack != "r2" || !slices.Equal(s.Racks[0].To, []int64{4, 3}) || !slices.Equal(s.Racks[1].To, []int64{2, 1}) {
		t.Errorf("racks: %+v", s.Racks)
	}
	if s.Nodes[0].Node != "w1" || s.Nodes[1].Node != "w9" || s.Nodes[2].Node != "w10" {
		t.Errorf("nodes: %+v", s.Nodes)
	}
}
