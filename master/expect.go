package master

import (
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// sizeOf returns the number of bytes in the inputs of a job. It returns 0 if only the driver can know: for patterns,
// for paths outside the block store, and for jobs that make their own data.
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

// mapsOf returns how many maps a job has that makes its own data, at 8 bytes for each number; 0 for other jobs.
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
