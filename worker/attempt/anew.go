package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
)

// errOther says that a map ran again and made other output than the one already fetched.
var errOther = errors.New("a map has another output now")

// Merge fetches everything and merges it. It begins anew when a map that has run again has put out something else than what
// was fetched of it before: parts of both would be in one output.
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

// reset forgets all that was learned and fetched.
func (f *fetcher) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts, f.claim, f.slots = map[string]*host{}, map[int32]*host{}, parallel
	f.want, f.have = map[int32]wire.MapOutput{}, map[int32]wire.MapOutput{}
	f.fails, f.slow, f.pace = map[int32]int{}, map[int32]uint64{}, map[string]float64{}
	f.got, f.raw = map[string]int64{}, 0
}

// compare ends the fetching if what is in is not what the map has put out last. f.mu is held.
func (f *fetcher) compare(in, now wire.MapOutput) {
	if !now.Lost && now.Sum != 0 && in.Sum != 0 && now.Sum != in.Sum {
		f.cancel(errOther)
	}
}

// in reports whether the output of a map was fetched. f.mu is held.
func (f *fetcher) in(index int32) bool {
	_, have := f.have[index]
	return have
}

// sum is what the reduce has read, as the master adds it up.
func (f *fetcher) sum() (sum uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.have {
		sum += o.Part()
	}
	return sum
}
