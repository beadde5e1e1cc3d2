package sim

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// The programs of tasks over devices, as spec/capacity 2.5 gives them.

// spill reads, maps, sorts and writes one buffer's worth of a map's input, and then the
// next, until nothing is left; spills counts those done.
func (d *devices) spill(now time.Duration, t *deviceTask, left float64, spills int) {
	job := t.job.job
	if left <= 0 {
		d.mergeSpills(now, t, spills)
		return
	}
	in := left
	if ratio := job.Cost.ShuffleRatio; ratio > 0 {
		in = min(left, d.cfg.BufferBytes/ratio)
	}
	out := in * job.Cost.ShuffleRatio
	d.readInput(now, t, in, func(now time.Duration) {
		d.cpu(now, t, in*job.Cost.MapCycles, func(now time.Duration) {
			d.cpu(now, t, out*d.cfg.SortCyclesPerByte, func(now time.Duration) {
				d.write(now, t, out, func(now time.Duration) { d.spill(now, t, left-in, spills+1) })
			})
		})
	})
}

// readInput reads from the node's own disk, or from a replica's and over the network.
func (d *devices) readInput(now time.Duration, t *deviceTask, bytes float64, then func(time.Duration)) {
	src := t.a.Node
	if t.a.Locality != scheduler.NodeLocal {
		if replicas := t.job.job.Spec.Splits.Of(t.a.Task.Index); len(replicas) > 0 {
			src = replicas[int(t.a.Try)%len(replicas)]
		}
	}
	d.read(now, t, src, bytes, func(now time.Duration) {
		if src == t.a.Node {
			then(now)
			return
		}
		d.demand(now, t, t.a.Node, useNIC, bytes, d.cfg.Noise, then)
	})
}

func (d *devices) mergeSpills(now time.Duration, t *deviceTask, spills int) {
	out := float64(t.job.job.input(t.a.Task.Index)) * t.job.job.Cost.ShuffleRatio
	finish := func(now time.Duration) {
		d.end(t)
		d.publish(now, t.job, t.a.Task.Index, segment{t.a.Node, out})
	}
	if spills <= 1 {
		finish(now)
		return
	}
	d.read(now, t, t.a.Node, out, func(now time.Duration) { d.write(now, t, out, finish) })
}

// publish makes the output of a map known to running reduces. A map that runs again because its output was lost has
// nothing new for reduces that have fetched it; the others find it in its new place.
func (d *devices) publish(now time.Duration, j *deviceJob, index int32, s segment) {
	if at, again := j.made[index]; again {
		j.outputs[at] = s
		return
	}
	j.made[index] = len(j.outputs)
	j.outputs = append(j.outputs, s)
	for _, r := range j.reduces {
		d.copyMore(now, r)
	}
}

// fetcher is the shuffle phase of a reduce.
type fetcher struct {
	next     int // index of the next of the job's outputs
	active   int // copies under way
	fetched  int
	merging  int     // merges under way
	held     float64 // bytes in memory
	segments int     // in memory
	input    float64 // bytes fetched in all
	finished bool
}

func (d *devices) startFetching(now time.Duration, t *deviceTask) {
	t.job.reduces = append(t.job.reduces, t)
	d.copyMore(now, t)
	d.tryFinishFetching(now, t)
}

// minPart is the smallest part of a map's output that is fetched.
const minPart = 10

// copyMore starts copies up to the limit.
func (d *devices) copyMore(now time.Duration, t *deviceTask) {
	f := &t.fetch
	for f.active < d.cfg.Copiers && f.next < len(t.job.outputs) {
		s := t.job.outputs[f.next]
		f.next++
		f.active++
		part := max(minPart, s.bytes/float64(max(1, t.job.job.Spec.Reduces)))
		d.copySegment(now, t, s.node, part)
	}
}

func (d *devices) copySegment(now time.Duration, t *deviceTask, src topology.NodeID, part float64) {
	arrived := func(now time.Duration) { d.arrived(now, t, part) }
	d.read(now, t, src, part, func(now time.Duration) {
		if src == t.a.Node {
			arrived(now)
			return
		}
		d.demand(now, t, t.a.Node, useNIC, part, d.cfg.Noise, arrived)
	})
}

func (d *devices) arrived(now time.Duration, t *deviceTask, part float64) {
	f := &t.fetch
	f.active--
	f.fetched++
	f.held += part
	f.input += part
	f.segments++
	if f.held >= d.cfg.MergeBytes || f.segments >= d.cfg.MergeSegments {
		d.mergeHeld(now, t)
	}
	d.copyMore(now, t)
	d.tryFinishFetching(now, t)
}

// mergeHeld merges what is in memory and writes it, while copying goes on.
func (d *devices) mergeHeld(now time.Duration, t *deviceTask) {
	f := &t.fetch
	bytes := f.held
	f.held, f.segments = 0, 0
	f.merging++
	d.cpu(now, t, d.cfg.MergeCycles, func(now time.Duration) {
		d.write(now, t, bytes, func(now time.Duration) {
			f.merging--
			d.tryFinishFetching(now, t)
		})
	})
}

// tryFinishFetching goes on to sort and reduce once everything is here.
func (d *devices) tryFinishFetching(now time.Duration, t *deviceTask) {
	f := &t.fetch
	if f.finished || !t.job.done || f.fetched < len(t.job.outputs) || f.active > 0 || f.merging > 0 {
		return
	}
	f.finished = true
	cost := t.job.job.Cost
	d.cpu(now, t, d.cfg.MergeCycles, func(now time.Duration) {
		d.write(now, t, f.held, func(now time.Duration) {
			d.cpu(now, t, d.cfg.SortCycles, func(now time.Duration) {
				d.read(now, t, t.a.Node, f.input, func(now time.Duration) {
					d.cpu(now, t, f.input*cost.ReduceCycles, func(now time.Duration) {
						d.write(now, t, f.input*cost.OutputRatio, func(time.Duration) {
							t.job.forget(t)
							d.end(t)
						})
					})
				})
			})
		})
	})
}
