package shuffle

import "math"

// merging writes merged runs: folded, combined or as they are.
type merging struct {
	cfg       MergeConfig
	combining *combining
	stats     *Stats
}

// write sends a run to a writer that has begun the partition.
func (m *merging) write(run Run, w *segmentWriter, partition int) error {
	if m.combining != nil {
		return m.combining.writeTo(run, w, partition)
	}
	if m.cfg.Fold != nil {
		run = newFoldRun(run, m.cfg.Fold, m.cfg.Compare, m.stats)
	}
	for run.Next() {
		if err := w.add(run.Key(), run.Value()); err != nil {
			return err
		}
	}
	return run.Err()
}

// nextWindow picks the neighbours to merge next, out of n runs of which at most factor can be merged at once. It
// picks just so many that all later merges are full, and of those windows the one with the fewest bytes.
func nextWindow(n, factor int, size func(i int) int64) (lo, count int) {
	count = (n-2)%(factor-1) + 2
	best := int64(math.MaxInt64)
	sum := int64(0)
	for i := range n {
		sum += size(i)
		if i >= count {
			sum -= size(i - count)
		}
		if i >= count-1 && sum < best {
			lo, best = i-count+1, sum
		}
	}
	return lo, count
}
