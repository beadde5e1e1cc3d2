package policies

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Every policy can be made with its defaults, is what its seam says, and is
// documented down to each parameter.
func TestEveryPolicy(t *testing.T) {
	for name, info := range All {
		if info.Name != name || info.Summary == "" || info.Source == "" {
			t.Errorf("%s: name, summary or source missing: %+v", name, info)
		}
		for _, p := range info.Params() {
			if p.Name == "" || p.Doc == "" || p.Source == "" || p.Type == "" || p.Range() == "" {
				t.Errorf("%s: parameter %s lacks doc, source, type or range", name, p.Name)
			}
		}
		if _, err := info.Make(info.LiveParams(nil)); err != nil {
			t.Errorf("%s on a cluster: %v", name, err)
		}
		for _, p := range info.LiveUnless {
			if !slices.ContainsFunc(info.Params(), func(d scheduler.Param) bool { return d.Name == p }) {
				t.Errorf("%s: %s makes no sense beside the cluster's defaults, but there is no such parameter", name, p)
			}
		}
		made, err := info.Make(nil)
		if err != nil {
			t.Errorf("%s with defaults: %v", name, err)
			continue
		}
		switch info.Seam {
		case scheduler.Assignment:
			if _, ok := made.(scheduler.Policy); !ok {
				t.Errorf("%s is a %T, no Policy", name, made)
			}
		case scheduler.Admitting:
			if _, ok := made.(scheduler.Admission); !ok {
				t.Errorf("%s is a %T, no Admission", name, made)
			}
		case scheduler.Placing:
			if _, ok := made.(placement.Factory); !ok {
				t.Errorf("%s is a %T, no placement.Factory", name, made)
			}
		}
	}
}

func TestUnknownNamesListTheKnown(t *testing.T) {
	_, err := Policy("fiffo", nil)
	if err == nil || !strings.Contains(err.Error(), `unknown assignment policy "fiffo": did you mean fifo?`) || !strings.Contains(err.Error(), "fifo") {
		t.Errorf("unknown policy: %v", err)
	}
	_, err = Policy("fair", map[string]string{"wieghts": "a=1"})
	if err == nil || !strings.Contains(err.Error(), `no parameter "wieghts"`) || !strings.Contains(err.Error(), "weights") {
		t.Errorf("unknown parameter: %v", err)
	}
	if _, err = Admission("fifo", nil); err == nil || !strings.Contains(err.Error(), "unknown admission policy") {
		t.Errorf("fifo as admission: %v", err)
	}
	if _, err = Make[scheduler.Admission](scheduler.Assignment, "fifo", nil); err == nil {
		t.Error("fifo was made an Admission")
	}
}

func TestListIsSorted(t *testing.T) {
	var last *scheduler.Info
	for _, i := range List() {
		if last != nil && last.Seam == i.Seam && last.Name >= i.Name {
			t.Errorf("%s before %s", last.Name, i.Name)
		}
		last = i
	}
}

// The placement policies listed here are those of package placement, and work
// on a cluster.
func TestPlacementPolicies(t *testing.T) {
	if got := Names(scheduler.Placing); !slices.Equal(got, placement.Names()) {
		t.Errorf("listed are %v, there are %v", got, placement.Names())
	}
	topo, err := topology.Uniform(2, 3, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range placement.Names() {
		f, err := Placement(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f(topo)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Place(rand.New(rand.NewPCG(1, 1)), placement.Request{Writer: 1, Replicas: 3})
		if err != nil || len(got.Nodes) != 3 {
			t.Errorf("%s placed %v, error %v", name, got, err)
		}
	}
	if _, err := Placement("two-plus-one", map[string]string{"up": "0"}); err == nil || !strings.Contains(err.Error(), "up=") {
		t.Errorf("no replica on scale-up: %v", err)
	}
}
