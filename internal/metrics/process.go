package metrics

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// ProcessTime returns how much processor time this process and its ended children have used, or 0 if the kernel does
// not say.
func ProcessTime() time.Duration {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	return parseProcess(b)
}

// tick is the unit of the kernel's times: 100 a second on every Linux.
const tick = 10 * time.Millisecond

// parseProcess adds up the times of a process from proc(5): user, system, and both for children. They are the 12th
// to 15th words after the program's name, which is in brackets and may contain anything.
func parseProcess(stat []byte) (sum time.Duration) {
	at := bytes.LastIndexByte(stat, ')')
	words := bytes.Fields(stat[at+1:])
	if at < 0 || len(words) < 15 {
		return 0
	}
	for _, w := range words[11:15] {
		n, err := strconv.ParseInt(string(w), 10, 64)
		if err != nil || n < 0 || n > 1<<40 {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
