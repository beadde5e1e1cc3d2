package master

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// decisionLog tells what the policies decided, in words.
func (m *Master) decisionLog(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.Decisions, error) {
	return ask(ctx, m, func(time.Duration) (wire.Decisions, error) { return m.jobs.DecisionsFrom(r), nil })
}

// openSpool opens what keeps the log of decisions, and returns what takes its lines.
func (m *Master) openSpool() (take func(tracker.Page), err error) {
	if m.spool, err = openSpool(filepath.Join(m.cfg.Dir, "decisions.s2"), m.cfg.KeepDecisions, m.cfg.Log); err != nil {
		return nil, err
	}
	m.wg.Go(func() { m.spool.run(m.ctx.Done()) })
	return m.spool.take, nil
}

// decisionLines hands out the log as a simulator replays it, page by page; it is written beside the loop.
func (m *Master) decisionLines(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.DecisionLines, error) {
	page, err := ask(ctx, m, func(time.Duration) (tracker.Page, error) { return m.jobs.Lines(r.From), nil })
	if err != nil {
		return wire.DecisionLines{}, err
	}
	if page.First == r.From {
		return page.Encode()
	}
	old, first, ok, err := m.spool.read(r.From, page.First) // what memory has forgotten was handed to it before
	if err != nil {
		return old, err
	}
	if !ok {
		return page.Encode()
	}
	page.Header.Lost = first - r.From
	old.Header, err = json.Marshal(page.Header)
	return old, err
}
