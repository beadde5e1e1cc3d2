package master

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// safeLog is a log that a test may read while it is written.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *safeLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// count is how often words are in it.
func (s *safeLog) count(words string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), words)
}
