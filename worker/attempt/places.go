package attempt

import (
	"maps"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

func (f *fetcher) rawBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raw
}

func (f *fetcher) bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var sum int64
	for _, n := range f.got {
		sum += n
	}
	return sum
}

// counts returns the bytes by place, and how long the reduce waited for them.
func (f *fetcher) counts() mapreduce.Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := maps.Clone(f.got)
	c[mapreduce.ReduceWaitMillis] = f.waited.Milliseconds()
	return mapreduce.Counts{mapreduce.TaskGroup: c}
}

// placeOf returns the counter for bytes from o's place.
func (f *fetcher) placeOf(o wire.MapOutput) string {
	switch {
	case o.Node == f.r.Node:
		return mapreduce.ShuffleNodeBytes
	case o.Rack == f.r.Rack:
		return mapreduce.ShuffleRackBytes
	}
	return mapreduce.ShuffleRemoteBytes
}
