package shuffle

import (
	"bytes"
	"math"
	"math/bits"
)

// loserTree finds the least of k streams with about log2(k) comparisons per record. Inner node i has the loser of
// the match between its children. The leaves are the streams, and the overall winner is kept apart. Ties go to the
// lower map, then to the lower stream.
type loserTree struct {
	streams []*stream
	compare func(a, b []byte) int // nil: byte order
	nodes   []player              // nodes[1:] are losers
	winner  player
}

// player is a stream in a match. A stream that is done has the largest prefix.
type player struct {
	prefix uint64
	src    uint64
}

// newLoserTree plays all matches. Each stream is at its first record or done.
func newLoserTree(streams []*stream, compare func(a, b []byte) int) *loserTree {
	t := &loserTree{streams: streams, compare: compare, nodes: make([]player, len(streams))}
	t.winner = t.play(1)
	return t
}

// play fills the subtree at node i and returns its winner.
func (t *loserTree) play(i int) player {
	if k := len(t.streams); i >= k {
		return t.enter(i - k)
	}
	l, r := t.play(2*i), t.play(2*i+1)
	if t.beats(r, l) {
		l, r = r, l
	}
	t.nodes[i] = r
	return l
}

// enter returns stream i as a player.
func (t *loserTree) enter(i int) player {
	s := t.streams[i]
	if s.done {
		return player{math.MaxUint64, uint64(i)}
	}
	return player{s.prefix, uint64(i)}
}

// replay replays the matches of the winner's stream, which has moved. No processor can predict who wins a match, so
// winner and loser change places by arithmetic and not by a branch.
func (t *loserTree) replay() {
	w := t.enter(int(t.winner.src))
	for i := (int(w.src) + len(t.streams)) / 2; i >= 1; i /= 2 {
		n := &t.nodes[i]
		_, less := bits.Sub64(n.prefix, w.prefix, 0)
		if n.prefix == w.prefix && t.beatsTied(*n, w) {
			less = 1
		}
		swap := -less
		dp, ds := (n.prefix^w.prefix)&swap, (n.src^w.src)&swap
		n.prefix ^= dp
		w.prefix ^= dp
		n.src ^= ds
		w.src ^= ds
	}
	t.winner = w
}

func (t *loserTree) beats(x, y player) bool {
	if x.prefix != y.prefix {
		return x.prefix < y.prefix
	}
	return t.beatsTied(x, y)
}

// beatsTied decides between equal prefixes: by the whole key, then by the map, then by the stream.
func (t *loserTree) beatsTied(x, y player) bool {
	sx, sy := t.streams[x.src], t.streams[y.src]
	if sx.done || sy.done {
		return !sx.done || sy.done && x.src < y.src
	}
	c := 0
	if sx.late != nil || sy.late != nil {
		c = compareLate(t.compare, sx, sy)
	} else if t.compare != nil {
		c = t.compare(sx.Key(), sy.Key())
	} else {
		c = bytes.Compare(sx.Key(), sy.Key())
	}
	if c != 0 {
		return c < 0
	}
	return sx.from < sy.from || sx.from == sy.from && x.src < y.src
}
