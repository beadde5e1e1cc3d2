package master

import (
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// sizeOf is how many bytes there are under the inputs of a job; 0 if that is not known before its driver looks: of
// patterns, of what is not in the block store, and of jobs that make their own data.
func (m *Master) sizeOf(inputs []string, user string) (bytes int64) {
	for _, in := range inputs {
		p, ok := storePath(in)
		if !ok {
			return 0
		}
		use, err := m.names.Usage(wire.QuotaRequest{Path: p, User: user})
		if err != nil {
			return 0
		}
		bytes += use.Len
	}
	return bytes
}

// mapsOf is how many maps a job has that makes its own data, 8 bytes for each number; 0 for others.
func mapsOf(inputs []string, shape wire.Shape) (maps int64) {
	for _, in := range inputs {
		n, ok := mapreduce.CountOf(in)
		if !ok || shape.SplitBytes <= 0 {
			return 0
		}
		maps = min(maps+(8*min(n, 1<<50)-1)/shape.SplitBytes+1, 1<<60)
	}
	return maps
}
