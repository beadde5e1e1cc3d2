package trace

import "time"

// A Job is one line of a trace.
type Job struct {
	ID     string
	Submit time.Duration // since the start of the trace
	// Bytes read by the maps, moved from maps to reduces, and written.
	InputBytes, ShuffleBytes, OutputBytes int64
	// Paths, where the trace has them.
	InputPath, OutputPath string
}
