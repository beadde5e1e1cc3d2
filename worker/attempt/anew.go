package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
)

// errOther says that a map ran again and its output differs from the one already fetched.
var errOther = errors.New("a map has another output now")

// Merge fetches everything and merges it. It starts over if a map ran again and its output differs from what
// was fetched before, so that parts of both never end up in one output.
func (f *fetcher) Merge(ctx context.Context, cfg shuffle.MergeConfig) (shuffle.Run, error) {
	for start := time.Now(); ; {
		run, err := f.fetchAll(ctx, cfg)
		f.waited = time.Since(start)
		if !errors.Is(err, errOther) {
			return run, err
		}
		f.close()
		f.reset()
	}
}

// reset forgets everything learned and fetched.
func (f *fetcher) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts, f.claim, f.slots = map[string]*host{}, map[int32]*host{}, parallel
	f.want, f.have = map[int32]wire.MapOutput{}, map[int32]wire.MapOutput{}
	f.fails, f.slow, f.pace = map[int32]failures{}, map[int32]uint64{}, map[string]float64{}
	f.got, f.raw = map[string]int64{}, 0
}

// compare ends the fetching if the fetched output differs from the map's latest. f.mu must be held.
func (f *fetcher) compare(in, now wire.MapOutput) {
	if !now.Lost && now.Sum != 0 && in.Sum != 0 && now.Sum != in.Sum {
		f.cancel(errOther)
	}
}

// in reports whether a map's output has been fetched. f.mu must be held.
func (f *fetcher) in(index int32) bool {
	_, have := f.have[index]
	return have
}

// sum returns the sum of what the reduce has read, as the master computes it.
func (f *fetcher) sum() (sum uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.have {
		sum += o.Part()
	}
	return sum
}
