package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
)

// meter is the progress of a transfer, or of making a file.
type meter struct {
	name         string
	files, count int   // arrived, of so many
	bytes, total int64 // moved, of so many; 0: unknown
	took         time.Duration
}

// line draws "put  ████████░░░░  67%  670 MiB of 1.00 GiB  120 MiB/s  3 of 8 files  2.8s left".
func (m meter) line(bar bool, shown *console.Left) string {
	var parts []string
	if m.total > 0 {
		share := min(1, float64(m.bytes)/float64(m.total))
		if bar {
			const cells = 24
			full := int(share * cells)
			parts = append(parts, strings.Repeat("█", full)+strings.Repeat("░", cells-full))
		}
		parts = append(parts, fmt.Sprintf("%3.0f%%", 100*share), fmt.Sprintf("%s of %s", human.Bytes(m.bytes), human.Bytes(m.total)))
	} else {
		parts = append(parts, human.Bytes(m.bytes))
	}
	parts = append(parts, human.Rate(m.bytes, m.took))
	if m.count > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d files", m.files, m.count))
	}
	if m.bytes > 0 && m.bytes < m.total {
		left := time.Duration(float64(m.took) * float64(m.total-m.bytes) / float64(m.bytes))
		parts = append(parts, shown.Next(left))
	}
	return m.name + "  " + strings.Join(parts, "  ")
}

// watchTransfer shows the progress on standard error until stop is called.
func watchTransfer(mode console.Mode, now func() meter) (stop func()) {
	var shown console.Left
	said := int64(-1)
	return console.Lines(os.Stderr, mode, func(mode console.Mode) string {
		m := now()
		if mode == console.Plain && m.bytes == said {
			return ""
		}
		said = m.bytes
		return m.line(mode == console.Bar, &shown)
	})
}
