package master

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/scripthost"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/scheduler/script"
)

// situations is the number of random situations in which a script must keep what every policy promises before it may
// decide for a cluster.
const situations = 40

// scripted is the script that decides, if one does; used by the loop only.
type scripted struct {
	host *scripthost.Host
	note string // why a script no longer decides
}

// startScript starts the process of a script, which lives until it is closed or the master ends.
func (m *Master) startScript(ctx context.Context, c wire.Choice, situations int) (*scripthost.Host, error) {
	name, text, err := script.Text(c.Params, scheduler.ScriptName)
	if err != nil {
		return nil, err
	}
	if m.cfg.ScriptHost == nil {
		return nil, errors.New("this master runs no scripts: it was not started by the millrace command")
	}
	cmd, err := m.cfg.ScriptHost()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(m.ctx, cancel)()
	defer cancel()
	h, err := scripthost.Start(ctx, cmd, name, text, scripthost.Limits{Situations: situations})
	if err != nil {
		return nil, err
	}
	m.wg.Go(func() {
		select {
		case <-m.ctx.Done():
		case <-h.Closed():
		}
		_ = h.Close() // it has nothing to lose
	})
	return h, nil
}

// setScript puts a script in place once it has been parsed and tried. The script survives restarts. If the caller goes
// away before the loop has the script, its process ends and the policy stays as it was.
func (m *Master) setScript(ctx context.Context, c rpc.Caller, r wire.Choice) (none, error) {
	name, text, err := script.Text(r.Params, scheduler.ScriptName)
	if err != nil {
		return none{}, wire.Errorf(wire.Invalid, "%w", err)
	}
	h, err := m.startScript(ctx, r, situations)
	if err != nil {
		return none{}, wire.Errorf(wire.Invalid, "the policy stays as it was: %w", err)
	}
	r.Params = script.Params(name, text)
	var owned atomic.Bool // the process has an owner: the loop, or the caller that ends it
	_, err = ask(ctx, m, func(now time.Duration) (none, error) {
		if owned.Swap(true) {
			return none{}, context.Canceled // nobody reads this error
		}
		m.put(now, r, h.Policy(), h)
		m.jobs.KeepScript(now, &r)
		m.cfg.Log.Info("policy changed", "policy", r.Name, "script", name, "bytes", len(text), "by", c.User)
		return none{}, nil
	})
	if err != nil && !owned.Swap(true) {
		_ = h.Close() // as above
	}
	return none{}, err
}

// put replaces the assignment policy. If the old one was a script, its process ends.
func (m *Master) put(now time.Duration, r wire.Choice, p scheduler.Policy, h *scripthost.Host) {
	if m.script.host != nil {
		_ = m.script.host.Close() // as above
	}
	m.policy, m.script = r, scripted{host: h}
	m.jobs.Announce(now, r, wire.Choice{})
	m.jobs.SetPolicy(now, p)
}

// usual returns the policy that the master was started with.
func (m *Master) usual() (wire.Choice, scheduler.Policy, error) {
	c, err := m.choose(m.cfg.Policy, m.cfg.PolicyParams)
	if err != nil {
		return c, nil, err
	}
	p, err := policies.Policy(c.Name, c.Params)
	return c, p, err
}

// mendScript, called in the loop, replaces a script that has failed, and so no longer decides, by the usual policy.
func (m *Master) mendScript() {
	h := m.script.host
	if h == nil || h.Policy().Err() == nil || m.ctx.Err() != nil { // a closing master ends its scripts
		return
	}
	now, failure := m.now(), h.Policy().Err()
	m.jobs.Broke(now, fmt.Errorf("the script has failed: %w: %w", failure, scheduler.ErrPolicy))
	m.jobs.KeepScript(now, nil)
	c, p, err := m.usual()
	if err != nil { // it could be made when the master started
		_ = h.Close() // as above
		m.script = scripted{note: fmt.Sprintf("the script has failed, and nothing starts: %v; %s cannot take its place: %v", failure, m.cfg.Policy, err)}
		return
	}
	m.put(now, c, p, nil)
	m.script.note = fmt.Sprintf("%s has taken the place of a script that failed: %v", c.Name, failure)
}

// restoreScript starts the script that decided under an earlier master, which tried it.
func (m *Master) restoreScript() {
	c := m.jobs.Script()
	if c == nil {
		return
	}
	h, err := m.startScript(m.ctx, *c, 0)
	if err != nil {
		m.script.note = fmt.Sprintf("%s decides, and not the script that did before this master was started: %v", m.policy.Name, err)
		m.cfg.Log.Error("the script cannot be started again", "policy", m.policy.Name, "error", err)
		return
	}
	m.put(m.now(), *c, h.Policy(), h)
}
