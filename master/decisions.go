package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// decisionLog tells what the policies decided, in words.
func (m *Master) decisionLog(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.Decisions, error) {
	return ask(ctx, m, func(time.Duration) (wire.Decisions, error) { return m.jobs.DecisionsFrom(r), nil })
}

// decisionLines hands out the log as a simulator replays it, page by page; it is written beside the loop.
func (m *Master) decisionLines(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.DecisionLines, error) {
	page, err := ask(ctx, m, func(time.Duration) (tracker.Page, error) { return m.jobs.Lines(r.From), nil })
	if err != nil {
		return wire.DecisionLines{}, err
	}
	return page.Encode()
}
