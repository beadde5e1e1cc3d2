package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Sample is what one run of a command cost.
type Sample struct {
	Wall    time.Duration `json:"wall_ns"`
	CPU     time.Duration `json:"cpu_ns"` // user and system
	PeakRSS int64         `json:"peak_rss_bytes"`
}

// best keeps the smaller of each time, as noise only adds, but the larger peak: a budget holds for every round.
func (s *Sample) best(o Sample) {
	if s.Wall == 0 {
		*s = o
		return
	}
	s.Wall, s.CPU, s.PeakRSS = min(s.Wall, o.Wall), min(s.CPU, o.CPU), max(s.PeakRSS, o.PeakRSS)
}

// A Command is a process to be measured.
type Command struct {
	Name string
	Args []string
	Env  []string
	// Okay lists exit codes that count as success beside 0: grep exits with 1
	// when it finds nothing.
	Okay []int
}

// measure runs a command to its end and discards its output.
func measure(ctx context.Context, c Command, dir string) (Sample, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), c.Env...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil && !c.okay(cmd) {
		return Sample{}, fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return Sample{
		Wall: wall, CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		PeakRSS: peakMemory(cmd.ProcessState),
	}, nil
}

func (c Command) okay(cmd *exec.Cmd) bool {
	for _, code := range c.Okay {
		if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == code {
			return true
		}
	}
	return false
}
