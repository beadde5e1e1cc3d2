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

// decisionLog returns the policies' decisions in words.
func (m *Master) decisionLog(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.Decisions, error) {
	return ask(ctx, m, func(time.Duration) (wire.Decisions, error) { return m.jobs.DecisionsFrom(r), nil })
}

// openSpool opens the spool of the decision log and returns the function that takes its lines.
func (m *Master) openSpool() (take func(tracker.Page), err error) {
	if m.spool, err = openSpool(filepath.Join(m.cfg.Dir, "decisions.s2"), m.cfg.KeepDecisions, m.cfg.Log); err != nil {
		return nil, err
	}
	m.wg.Go(func() { m.spool.run(m.ctx.Done()) })
	return m.spool.take, nil
}

// decisionLines returns a page of the log that a simulator replays. It encodes the page outside the loop.
func (m *Master) decisionLines(ctx context.Context, _ rpc.Caller, r wire.DecisionsRequest) (wire.DecisionLines, error) {
	page, err := ask(ctx, m, func(time.Duration) (tracker.Page, error) { return m.jobs.Lines(r.From), nil })
	if err != nil {
		return wire.DecisionLines{}, err
	}
	if page.First == r.From {
		return page.Encode()
	}
	old, first, ok, err := m.spool.read(r.From, page.First) // the spool got the lines before memory dropped them
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
