package memdisk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// SyncDir makes the names in a directory durable: all changes that affect it, and the earlier ones of the same files
// and directories.
func (m *FS) SyncDir(name string) error {
	if err := m.ask("syncdir", name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.find("syncdir", name)
	if err != nil {
		return err
	}
	last := map[*node]int{} // the last change of a node that must be durable
	for i, l := range m.links {
		if l.from == dir || l.to == dir {
			last[l.node] = i
		}
	}
	var rest []link
	for i, l := range m.links {
		if at, ok := last[l.node]; ok && i <= at {
			m.settle(m.safe, l)
		} else {
			rest = append(rest, l)
		}
	}
	m.links = rest
	return nil
}

// settle applies a change of names to a table. m.mu must be held.
func (m *FS) settle(safe map[*node]map[string]*node, l link) {
	if l.from != nil && safe[l.from][l.old] == l.node {
		delete(safe[l.from], l.old)
	}
	if l.to == nil {
		return
	}
	if safe[l.to] == nil {
		safe[l.to] = map[string]*node{}
	}
	safe[l.to][l.new] = l.node
}

// Crash returns a disk as a power cut now may leave it. m itself continues unaffected. Changes of names that were
// not made durable may be there or not, each independently but in order for one file. So may unsynced writes, in
// pieces of 512 bytes or 4 KiB.
func (m *FS) Crash(rng *rand.Rand) *FS {
	m.mu.Lock()
	defer m.mu.Unlock()
	safe := map[*node]map[string]*node{}
	for dir, names := range m.safe {
		safe[dir] = maps.Clone(names)
	}
	mood := rng.IntN(3) // none, all, some: to reach the extremes often
	gone := map[*node]bool{}
	for _, l := range m.links {
		if gone[l.node] || mood == 0 || mood == 2 && rng.IntN(2) == 0 {
			gone[l.node] = true // later changes of this node cannot have happened
			continue
		}
		m.settle(safe, l)
	}
	out := New()
	out.limit = m.limit
	out.fill(out.root, m.root, safe, rng, map[*node]bool{})
	return out
}

// fill copies the content of a directory, all of it durable. The caller holds the lock of the source. Nobody else
// knows m yet.
func (m *FS) fill(to, from *node, safe map[*node]map[string]*node, rng *rand.Rand, seen map[*node]bool) {
	m.safe[to] = map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(safe[from])) {
		n := safe[from][name]
		if seen[n] {
			continue
		}
		seen[n] = true
		c := &node{dir: n.dir}
		if n.dir {
			c.names = map[string]*node{}
			m.fill(c, n, safe, rng, seen)
		} else {
			c.data = n.torn(rng)
			c.safe = slices.Clone(c.data)
			m.used += int64(len(c.data))
		}
		to.names[name], m.safe[to][name] = c, c
	}
}

// torn returns the synced content with some of the unsynced writes.
func (n *node) torn(rng *rand.Rand) []byte {
	out := slices.Clone(n.safe)
	mood, piece := rng.IntN(4), int64(512)
	if rng.IntN(2) == 0 {
		piece = 4096
	}
	keep := rng.IntN(len(n.writes) + 1)
	for i, w := range n.writes {
		switch {
		case mood == 0 || mood == 2 && i > keep: // lost: all, or all from some point on
		case mood == 1 || mood == 2 && i < keep || w.cut && rng.IntN(2) == 0:
			out = w.apply(out)
		case !w.cut:
			out = tear(out, w, piece, rng)
		}
	}
	return out
}

// tear applies some pieces of a write. Pieces begin at multiples of their size in the file. A lost piece before the
// end of the file reads as before, or as zeros.
func tear(out []byte, w write, piece int64, rng *rand.Rand) []byte {
	end := w.off + int64(len(w.data))
	for at := w.off; at < end; {
		next := min((at/piece+1)*piece, end)
		if rng.IntN(2) == 0 {
			out = write{off: at, data: w.data[at-w.off : next-w.off]}.apply(out)
		}
		at = next
	}
	return out
}
