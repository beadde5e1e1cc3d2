package flow

import (
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

// pair is the elephants from one rack to another.
type pair struct {
	flows int32
	place int32 // in busy
	rate  float64
	clock float64
	sum   float64 // of the marks of its flows
	ends  marks
}

// optics is the circuit switch. Each ordered pair of racks has a queue of elephants that
// share the pair's circuit equally while there is one.
type optics struct {
	Switch
	racks int

	pairs   []pair  // by from*racks+to
	busy    []int32 // pairs with flows
	circuit []int   // by rack: where its circuit leads, -1 nowhere
	now     time.Duration
	dark    time.Duration // until when the switch is being set
	matchAt time.Duration // next time at which circuits are chosen; Never without demand
}

func newOptics(t *topology.Topology, plain bool) *optics {
	o := &optics{Switch: Switch{t.OCS(), plain}, racks: t.NumRacks(), matchAt: Never}
	o.pairs = make([]pair, o.racks*o.racks)
	o.circuit = make([]int, o.racks)
	for i := range o.circuit {
		o.circuit[i] = -1
	}
	return o
}

func (o *optics) add(now time.Duration, n *Network, slot int32) {
	o.advance(now)
	f := &n.flows[slot]
	f.class = f.from*int32(o.racks) + f.to
	p := &o.pairs[f.class]
	if p.flows == 0 {
		p.place = int32(len(o.busy))
		o.busy = append(o.busy, f.class)
	}
	p.flows++
	f.mark = p.clock + f.bytes
	p.sum += f.mark
	p.ends.push(mark{f.mark, slot, f.gen})
	o.demand(now)
	o.setRates()
}

// demand makes sure that circuits are chosen at the next boundary.
func (o *optics) demand(now time.Duration) {
	if o.matchAt == Never {
		o.matchAt = (now + o.Interval - 1) / o.Interval * o.Interval
	}
}

func (o *optics) extend(now time.Duration, n *Network, slot int32, bytes float64) {
	o.advance(now)
	f := &n.flows[slot]
	f.mark += bytes
	p := &o.pairs[f.class]
	p.sum += bytes
	p.ends.push(mark{f.mark, slot, f.gen})
}

func (o *optics) drop(now time.Duration, n *Network, slot int32) {
	o.advance(now)
	f := &n.flows[slot]
	n.count(f, f.bytes-max(0, f.mark-o.pairs[f.class].clock))
	o.leave(f.class, f.mark)
}

func (o *optics) leave(id int32, at float64) {
	p := &o.pairs[id]
	p.flows--
	p.sum -= at
	if p.flows == 0 {
		p.sum, p.clock, p.rate, p.ends = 0, 0, 0, p.ends[:0]
		last := o.busy[len(o.busy)-1]
		o.busy[p.place] = last
		o.pairs[last].place = p.place
		o.busy = o.busy[:len(o.busy)-1]
	}
	o.setRates()
}

// setRates shares each circuit among the flows that wait for it.
func (o *optics) setRates() {
	for _, id := range o.busy {
		p := &o.pairs[id]
		p.rate = 0
		if o.now >= o.dark && o.circuit[int(id)/o.racks] == int(id)%o.racks {
			p.rate = float64(o.Rate) / float64(p.flows)
		}
	}
}

func (o *optics) advance(now time.Duration) {
	if now <= o.now {
		return
	}
	dt := (now - o.now).Seconds()
	o.now = now
	for _, id := range o.busy {
		p := &o.pairs[id]
		p.clock += p.rate * dt
	}
}

// next returns when the switch has something to do.
func (o *optics) next() time.Duration {
	at := o.matchAt
	if o.now < o.dark {
		at = min(at, o.dark)
	}
	for _, id := range o.busy {
		if p := &o.pairs[id]; p.rate > 0 && len(p.ends) > 0 {
			left := max(0, p.ends[0].at-p.clock) / p.rate
			at = min(at, o.now+max(1, time.Duration(math.Ceil(left*float64(time.Second)))))
		}
	}
	return at
}

// step ends elephants, lights circuits after the dark time, and chooses new ones.
func (o *optics) step(now time.Duration, n *Network) {
	o.advance(now)
	for _, id := range slices.Clone(o.busy) {
		p := &o.pairs[id]
		for p.flows > 0 {
			m, ok := n.first(&p.ends)
			if !ok || m.at > p.clock+slack*p.rate {
				break
			}
			p.ends.pop()
			n.end(m.slot)
			o.leave(id, m.at)
		}
	}
	if o.matchAt <= now {
		o.choose(now)
	}
	o.setRates()
}

// choose sets the circuits for the next interval (spec/jobpacker 3.2).
func (o *optics) choose(now time.Duration) {
	o.matchAt = Never
	if len(o.busy) == 0 {
		return // no demand: the configuration stays
	}
	o.matchAt = now/o.Interval*o.Interval + o.Interval
	if next := o.Choose(o.waits(), o.circuit); !slices.Equal(next, o.circuit) {
		o.circuit = next
		o.dark = now + o.Reconfig
	}
}

// waits returns the bytes that wait, pair by pair.
func (o *optics) waits() [][]int64 {
	w := make([][]int64, o.racks)
	for i := range w {
		w[i] = make([]int64, o.racks)
	}
	for _, id := range o.busy {
		p := &o.pairs[id]
		w[int(id)/o.racks][int(id)%o.racks] = max(1, int64(p.sum-float64(p.flows)*p.clock))
	}
	return w
}
