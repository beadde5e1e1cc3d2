package fair

import (
	"github.com/millrace/millrace/scheduler"
)

// held returns what u counts for against a share of kind k.
func (s *Shares) held(u *scheduler.Usage, k scheduler.Kind, v *scheduler.View) float64 {
	switch s.cfg.Measure {
	case "memory":
		return float64(u.MemoryMB)
	case "dominant":
		if t := v.Total(); t.VCores > 0 || t.MemoryMB > 0 {
			return dominant(u, t)
		}
		// A cluster of plain slots has one resource: slots.
	}
	if s.byKind {
		return float64(u.Slots[k])
	}
	return float64(u.Work())
}

// dominant returns the larger of the two shares of the cluster that u holds
// (DRF, spec/nas 3.15).
func dominant(u *scheduler.Usage, total scheduler.Totals) float64 {
	share := 0.0
	if total.VCores > 0 {
		share = float64(u.VCores) / float64(total.VCores)
	}
	if total.MemoryMB > 0 {
		share = max(share, float64(u.MemoryMB)/float64(total.MemoryMB))
	}
	return share
}

// jobKey places a job among the jobs of its group, or among all.
func (s *Shares) jobKey(j *job, k scheduler.Kind, v *scheduler.View) key {
	if s.cfg.Inside == "fifo" && s.cfg.Key != "job" {
		return key{First: -float64(j.Priority())}
	}
	out := key{First: s.held(j.Usage(), k, v) / j.Weight()}
	if s.cfg.Ties == "served" && j.Slot() < len(s.served) {
		out.Second = s.served[j.Slot()]
	}
	return out
}

// groupKey places a group. A group below its minimum share comes before all that are not, by how much of the minimum it
// holds: its key lies in [-1, 0).
func (s *Shares) groupKey(g *group, k scheduler.Kind, v *scheduler.View) key {
	var out key
	if s.cfg.Ties == "served" && g.Slot() < len(s.gone) {
		out.Second = s.gone[g.Slot()]
	}
	if m, has := s.minimum(g, k); has < m {
		out.First = has/m - 1
		return out
	}
	out.First = s.held(g.Usage(), k, v) / s.weight(g)
	return out
}

func (s *Shares) minimum(g *group, k scheduler.Kind) (m, has float64) {
	table := s.cfg.MinMaps
	if k == scheduler.Reduce {
		table = s.cfg.MinReduces
	}
	return table[g.Name()], float64(g.Usage().Slots[k])
}

func (s *Shares) weight(g *group) float64 {
	if w, ok := s.cfg.Weights[g.Name()]; ok {
		return w
	}
	return 1
}
