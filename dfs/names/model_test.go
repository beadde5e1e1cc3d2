package names

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/wire"
)

// A model is the dumbest namespace: full paths to what they are; directories have
// blocks -1.
type model map[string]int

func (m model) isDir(p string) bool { return m[p] == -1 }

func (m model) parentOK(p string) error {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if n, ok := m[dir]; ok {
			if n != -1 {
				return wire.Invalid
			}
			if dir != path.Dir(p) {
				return wire.NotFound
			}
			return nil
		}
	}
}

func (m model) mkdir(p string) error {
	if _, ok := m[p]; ok {
		return wire.Exists
	}
	if err := m.parentOK(p); err != nil {
		return err
	}
	m[p] = -1
	return nil
}

func (m model) put(p string, blocks int, overwrite bool) error {
	if m.isDir(p) {
		return wire.Exists
	}
	if _, ok := m[p]; ok && !overwrite {
		return wire.Exists
	}
	if err := m.parentOK(p); err != nil {
		return err
	}
	m[p] = blocks
	return nil
}

func (m model) below(p string) (list []string) {
	for q := range m {
		if strings.HasPrefix(q, strings.TrimSuffix(p, "/")+"/") && q != p {
			list = append(list, q)
		}
	}
	return list
}

func (m model) remove(p string, recursive bool) error {
	if _, ok := m[p]; !ok {
		return wire.NotFound
	}
	if p == "/" || len(m.below(p)) > 0 && !recursive {
		return wire.Invalid
	}
	for _, q := range m.below(p) {
		delete(m, q)
	}
	delete(m, p)
	return nil
}

func (m model) rename(from, to string, replace, tree bool) error {
	n, ok := m[from]
	if !ok {
		return wire.NotFound
	}
	if from == "/" {
		return wire.Invalid
	}
	there, taken := m[to]
	if !taken {
		if err := m.parentOK(to); err != nil {
			return err
		}
	}
	switch {
	case from == to:
		return nil
	case taken && there == -1 && (!tree || n != -1):
		return wire.Exists
	case taken && there != -1 && (!replace || n == -1):
		return wire.Exists
	case taken && strings.HasPrefix(from, strings.TrimSuffix(to, "/")+"/"):
		return wire.Invalid
	case strings.HasPrefix(to, from+"/"):
		return wire.Invalid
	}
	if taken {
		for _, q := range m.below(to) {
			delete(m, q)
		}
	}
	for _, q := range m.below(from) {
		m[to+q[len(from):]] = m[q]
		delete(m, q)
	}
	delete(m, from)
	m[to] = n
	return nil
}

// text lists the model as list does the service.
func (m model) text() string {
	var b strings.Builder
	for _, p := range slices.SortedFunc(maps.Keys(m), func(a, b string) int { return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) }) {
		if p != "/" {
			fmt.Fprintf(&b, "%s %v %d\n", p, m[p] == -1, max(m[p], 0)*1000)
		}
	}
	return b.String()
}

// list walks through the service by pages of three.
func list(t testing.TB, s *Service, p string, b *strings.Builder) {
	t.Helper()
	req := wire.ListRequest{Path: p, Limit: 3}
	for {
		resp, err := s.List(req)
		must(t, err)
		for _, e := range resp.Entries {
			fmt.Fprintf(b, "%s %v %d\n", e.Path, e.Dir, e.Len)
			if fi, err := s.Stat(wire.PathRequest{Path: e.Path}); err != nil || fi != e {
				t.Fatalf("stat says %+v, %v; list says %+v", fi, err, e)
			}
			if e.Dir {
				list(t, s, e.Path, b)
			}
			req.After = path.Base(e.Path)
		}
		if !resp.More {
			return
		}
	}
}

func sameKind(t *rapid.T, what string, got, want error) {
	if (got == nil) != (want == nil) || want != nil && !errors.Is(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// TestAgainstModel compares random histories, with checkpoints and restarts in between,
// with the dumbest namespace.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		defer func() { must(t, r.s.Close()) }()
		r.open()
		for i := range 3 {
			r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), "r", 1<<39)
		}
		m := model{"/": -1}
		anyPath := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3), func(list []string) string {
			return "/" + strings.Join(list, "/")
		})
		rt.Repeat(map[string]func(*rapid.T){
			"mkdir": func(rt *rapid.T) {
				p := anyPath.Draw(rt, "path")
				_, err := r.s.Mkdir(wire.MkdirRequest{Path: p})
				sameKind(rt, "mkdir "+p, err, m.mkdir(p))
			},
			"put": func(rt *rapid.T) {
				p, n, over := anyPath.Draw(rt, "path"), rapid.IntRange(0, 2).Draw(rt, "blocks"), rapid.Bool().Draw(rt, "overwrite")
				err := r.put(wire.CreateRequest{Path: p, Overwrite: over, Replication: 2}, n, "")
				sameKind(rt, "put "+p, err, m.put(p, n, over))
			},
			"remove": func(rt *rapid.T) {
				p, all := anyPath.Draw(rt, "path"), rapid.Bool().Draw(rt, "recursive")
				sameKind(rt, "remove "+p, r.s.Delete(wire.DeleteRequest{Path: p, Recursive: all}), m.remove(p, all))
			},
			"rename": func(rt *rapid.T) {
				from, to, replace, tree := anyPath.Draw(rt, "from"), anyPath.Draw(rt, "to"), rapid.Bool().Draw(rt, "replace"), rapid.Bool().Draw(rt, "tree")
				_, err := r.s.Rename(wire.RenameRequest{From: from, To: to, Replace: replace, Tree: tree})
				sameKind(rt, "rename "+from+" "+to, err, m.rename(from, to, replace, tree))
			},
			"restart": func(rt *rapid.T) {
				if rapid.Bool().Draw(rt, "checkpoint") {
					must(t, r.s.Checkpoint())
				}
				r.restart()
				r.step(5 * time.Second)
			},
			"": func(rt *rapid.T) {
				r.s.audit(t)
				var b strings.Builder
				list(t, r.s, "/", &b)
				if b.String() != m.text() {
					rt.Fatalf("the service has\n%swant\n%s", &b, m.text())
				}
			},
		})
	})
}
