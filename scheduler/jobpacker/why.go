package jobpacker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// why returns why a job has so many racks: those that a circuit joins, or wherever containers are free first.
func (k *packer) why(p *plan) string {
	have := fmt.Sprintf("a rack has about %d containers", k.model.MapSlots)
	if !k.circuits {
		have += ", and this cluster has no circuits"
	}
	if p.heavy {
		return fmt.Sprintf("its shuffle of %s is worth circuits: of the numbers of racks for which it is, %d for %d maps and %d for %d reduces end first (%s)",
			megabytes(p.profile.Shuffle), p.width(scheduler.Map), p.profile.Maps, p.width(scheduler.Reduce), p.profile.Reduces, have)
	}
	light := "it has no reduces"
	switch {
	case p.profile.Reduces == 0:
	case p.profile.Shuffle < k.model.Threshold:
		light = fmt.Sprintf("its shuffle of %s is not worth a circuit, for which it takes %s", megabytes(p.profile.Shuffle), megabytes(k.model.Threshold))
	default:
		light = fmt.Sprintf("over as many racks as it needs no two of them would send the %s that a circuit takes", megabytes(k.model.Threshold))
	}
	return fmt.Sprintf("%s: it has the %d containers that are free first, wherever they are (%s)", light, k.provision(p.profile.Maps), have)
}

// why returns what its racks change for a job.
func (c *corral) why(p *plan) string {
	racks := p.width(scheduler.Map)
	alone := c.model.Same(&p.profile, 1).Round(10 * time.Millisecond)
	if racks == 1 {
		return fmt.Sprintf("in one rack it takes %s, and nothing of its shuffle leaves it", alone)
	}
	return fmt.Sprintf("in one rack, with about %d containers, it would take %s, in %d it takes %s", c.model.MapSlots, alone, racks, c.model.Same(&p.profile, racks).Round(10*time.Millisecond))
}

func megabytes(n int64) string { return fmt.Sprintf("%.4g MB", float64(n)/1e6) }
