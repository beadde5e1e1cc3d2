package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// A Row is a measured case.
type Row struct {
	ID        string  `json:"id"`
	What      string  `json:"what"`
	Rival     string  `json:"rival,omitempty"`
	Ours      Sample  `json:"ours"`
	Theirs    Sample  `json:"theirs"`
	Ratio     float64 `json:"ratio"` // of wall times, or milliseconds for an absolute case
	CPURatio  float64 `json:"cpu_ratio,omitempty"`
	RSSRatio  float64 `json:"rss_ratio,omitempty"` // peak memory over budget
	Must      float64 `json:"must"`
	Aim       float64 `json:"aim"`
	Verdict   string  `json:"verdict"` // "aim", "must", "missed" or "no rival"
	Complaint string  `json:"complaint,omitempty"`
}

// Run measures the chosen cases, all when only is empty, and calls progress before
// each.
func Run(ctx context.Context, s Setup, only []string, progress func(c Case)) ([]Row, error) {
	s = s.withDefaults()
	cases := slices.DeleteFunc(s.Cases(), func(c Case) bool { return len(only) > 0 && !slices.Contains(only, c.ID) })
	return inTurn(s.Dir, cases, func(c Case) (string, Row, error) {
		progress(c)
		row, err := s.measureCase(ctx, c)
		return c.ID, row, err
	})
}

// inTurn measures cases one after the other, in a directory. If one fails, it returns those before it.
func inTurn[C, R any](dir string, cases []C, measure func(C) (id string, row R, err error)) (out []R, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, c := range cases {
		id, row, err := measure(c)
		if err != nil {
			return out, fmt.Errorf("%s: %w", id, err)
		}
		out = append(out, row)
	}
	return out, nil
}

func (s Setup) measureCase(ctx context.Context, c Case) (Row, error) {
	row := Row{ID: c.ID, What: c.What, Rival: c.Rival.Name, Must: c.Must, Aim: c.Aim}
	for _, in := range c.inputs {
		if err := s.prepare(ctx, in); err != nil {
			return row, err
		}
	}
	rival := !c.Absolute
	if rival {
		if _, err := exec.LookPath(c.Rival.Args[0]); err != nil {
			row.Verdict, row.Complaint, rival = "no rival", c.Rival.Args[0]+" is not installed", false
		}
	}
	rounds := s.Rounds
	if c.Rounds > 0 {
		rounds = c.Rounds
	}
	var walls []time.Duration
	for range rounds {
		ours, err := measure(ctx, c.Ours, s.Dir)
		if err != nil {
			return row, err
		}
		row.Ours.best(ours)
		walls = append(walls, ours.Wall)
		if rival {
			theirs, err := measure(ctx, c.Rival, s.Dir)
			if err != nil {
				return row, err
			}
			row.Theirs.best(theirs)
		}
	}
	row.judge(c, median(walls))
	return row, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func (r *Row) judge(c Case, middle time.Duration) {
	if c.Absolute {
		r.Ratio = float64(middle) / float64(time.Millisecond)
	} else if r.Theirs.Wall > 0 {
		r.Ratio = float64(r.Ours.Wall) / float64(r.Theirs.Wall)
		r.CPURatio = float64(r.Ours.CPU) / float64(r.Theirs.CPU)
	}
	if c.Budget > 0 {
		r.RSSRatio = float64(r.Ours.PeakRSS) / float64(c.Budget)
	}
	if r.Verdict != "" {
		return
	}
	worst := r.Ratio
	if c.CPU {
		worst = max(worst, r.CPURatio)
	}
	switch {
	case c.Budget > 0 && r.RSSRatio > 1.15:
		r.Verdict, r.Complaint = "missed", fmt.Sprintf("peak memory is %.2f of the budget, at most 1.15", r.RSSRatio)
	case worst <= c.Aim:
		r.Verdict = "aim"
	case worst <= c.Must:
		r.Verdict = "must"
	default:
		r.Verdict = "missed"
	}
}
