package attempt

import (
	"context"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// partBytes is about how much of a plan goes into one message, far below the limit of a message.
const partBytes = 1 << 20

// sendPlan sends the plan to the master, a long one in parts. The master answers how far it has come. So a lost
// answer, or another master, costs no more than the current part.
func (r *runner) sendPlan(ctx context.Context, p *wire.StagePlan) error {
	splits := p.Splits
	if partOf(splits) < len(splits) {
		p.Splits, p.Parts = nil, len(splits)
	}
	for next := 0; ; {
		req := wire.DriverRequest{ID: r.l.ID, Plan: p}
		if p.Parts > 0 && next < len(splits) {
			n := partOf(splits[next:])
			req = wire.DriverRequest{ID: r.l.ID, Part: &wire.PlanPart{First: next, Total: len(splits), Splits: splits[next : next+n]}}
		}
		got, err := call(ctx, r, api.DriverPlan, req)
		if err != nil || req.Plan != nil && got.Next >= p.Parts {
			return err
		}
		next = min(max(got.Next, 0), len(splits))
	}
}

// partOf is how many of the splits fit a message; at least one.
func partOf(splits []wire.Split) int {
	size := 0
	for i := range splits {
		for _, g := range splits[i].Ranges {
			size += len(g.Path) + 48
		}
		for _, h := range splits[i].Hosts {
			size += len(h) + 4
		}
		if size += 32; size > partBytes && i > 0 {
			return i
		}
	}
	return len(splits)
}
