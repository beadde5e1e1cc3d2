package task

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/millrace/millrace/storage"
)

// An extent is a contiguous part of a file and the hosts that hold a copy.
type extent struct {
	Range
	hosts []string
}

// mostGathered bounds the average number of extents in a regrouped split. The map reads on behind the end of each,
// to the end of a record, which another host may have.
const mostGathered = 64

// cutBlocks divides a file whose blocks have places, so that the host of a map may have all of its split.
func (s *splitter) cutBlocks(store storage.Locator, inner string, e storage.Entry) error {
	list, err := s.extents(store, inner, e)
	if err != nil {
		return err
	}
	groups := s.inOrder(list)
	if s.gather && len(list) <= mostGathered*len(groups) {
		groups = newGatherer(list, s.target).groups()
	}
	for _, g := range groups {
		s.out = append(s.out, s.join(g))
	}
	return nil
}

// extents cuts a file at the ends of blocks and splits. What is behind the last block has no hosts.
func (s *splitter) extents(store storage.Locator, inner string, e storage.Entry) (list []extent, err error) {
	from := int64(0)
	cut := func(end int64, hosts []string) {
		for end = min(end, e.Size); from < end; {
			to := min(end, from-from%s.target+s.target)
			list = append(list, extent{Range{e.Path, from, to - from}, hosts})
			from = to
		}
	}
	for b, err := range store.Blocks(inner) {
		if err != nil {
			return nil, fmt.Errorf("input %q: find its blocks: %w", e.Path, err)
		}
		cut(b.Offset+b.Length, b.Hosts)
	}
	cut(e.Size, nil)
	return list, nil
}

// inOrder groups the extents by each target size of the file.
func (s *splitter) inOrder(list []extent) (out [][]extent) {
	for i, x := range list {
		if i == 0 || x.Offset%s.target == 0 {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], x)
	}
	return out
}

// A gatherer makes groups of the target size from what one host holds, and then from what is left.
type gatherer struct {
	list   []extent
	target int64
	taken  []bool
	held   map[string][]int // by host, from the first extent that may be free
	free   map[string]int64 // bytes that are not taken yet
}

func newGatherer(list []extent, target int64) *gatherer {
	g := &gatherer{list: list, target: target, taken: make([]bool, len(list)), held: map[string][]int{}, free: map[string]int64{}}
	for i, x := range list {
		for _, h := range x.hosts {
			g.held[h] = append(g.held[h], i)
			g.free[h] += x.Length
		}
	}
	return g
}

func (g *gatherer) groups() (out [][]extent) {
	left := make([]int, len(g.list))
	for i, x := range g.list {
		left[i] = i
		for !g.taken[i] && len(x.hosts) > 0 {
			h := slices.MaxFunc(x.hosts, func(a, b string) int { return cmp.Compare(g.free[a], g.free[b]) })
			if g.free[h] < g.target {
				break
			}
			var group []extent
			group, g.held[h] = g.take(g.held[h])
			out = append(out, group)
		}
	}
	for group, left := g.take(left); group != nil; group, left = g.take(left) {
		out = append(out, group)
	}
	return out
}

// take makes a group of the first extents and returns the rest.
func (g *gatherer) take(from []int) (group []extent, rest []int) {
	room := g.target
	for ; len(from) > 0; from = from[1:] {
		i := from[0]
		if g.taken[i] {
			continue
		}
		if g.list[i].Length > room {
			break
		}
		g.taken[i] = true
		room -= g.list[i].Length
		group = append(group, g.list[i])
		for _, h := range g.list[i].hosts {
			g.free[h] -= g.list[i].Length
		}
	}
	return group, from
}

// join makes a split of extents, in their order. Its hosts hold at least half of it, or if there are none, the most.
// Those that hold most come first.
func (s *splitter) join(group []extent) Split {
	split := Split{Input: s.input}
	held := map[string]int64{}
	for _, x := range group {
		n := len(split.Ranges) - 1
		if n >= 0 && split.Ranges[n].Offset+split.Ranges[n].Length == x.Offset {
			split.Ranges[n].Length += x.Length
		} else {
			split.Ranges = append(split.Ranges, x.Range)
		}
		for _, h := range x.hosts {
			if held[h] == 0 {
				split.Hosts = append(split.Hosts, h)
			}
			held[h] += x.Length
		}
	}
	slices.SortStableFunc(split.Hosts, func(a, b string) int { return cmp.Compare(held[b], held[a]) })
	if len(split.Hosts) > 0 {
		enough := min((split.Bytes()+1)/2, held[split.Hosts[0]])
		split.Hosts = slices.DeleteFunc(split.Hosts, func(h string) bool { return held[h] < enough })
	}
	return split
}
