package web

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// A tile is a value with an explanation.
type tile struct{ Value, Text string }

// goalTiles returns the goal of a job, whether it was met, and the policies' figures with explanations, as millrace job
// status has them.
func goalTiles(s *wire.JobStatus, now int64) (out []tile) {
	if s.Deadline > 0 {
		out = append(out, tile{goalValue(s, now), "goal: " + millis(s.Allowed()) + " after its submission"})
	}
	for _, f := range s.Figures {
		ms := int64(f.Value * 1000)
		switch kind, need := strings.CutPrefix(f.Name, "need-"); {
		case need:
			out = append(out, tile{few(f.Value) + " containers", "needed for " + kind + " from now on, to meet its goal"})
		case f.Name == "forecast":
			out = append(out, tile{"done " + distance(ms, now), "forecast, with the containers that it holds"})
		case f.Name == "late" && ms > 0:
			out = append(out, tile{"late by " + millis(ms), "if so"})
		case f.Name == "late":
			out = append(out, tile{"not late", millis(-ms) + " before its goal, if so"})
		default:
			out = append(out, tile{fmt.Sprintf("%.4g", f.Value), f.Name})
		}
	}
	return out
}

// few formats a number of containers, where less than a tenth is negligible.
func few(n float64) string {
	if n > 0 && n < 0.1 {
		return "under 0.1"
	}
	return fmt.Sprintf("%.1f", n)
}

func goalValue(s *wire.JobStatus, now int64) string {
	switch met := s.GoalMet(); {
	case met == nil:
		return distance(s.Deadline, now)
	case *met:
		return "met, " + millis(s.Deadline-s.Ended) + " before"
	case s.State == wire.Succeeded:
		return "missed by " + millis(s.Ended-s.Deadline)
	}
	return "missed"
}

// distance returns how far a time is from now.
func distance(at, now int64) string {
	if at < now {
		return millis(now-at) + " ago"
	}
	return "in " + millis(at-now)
}
