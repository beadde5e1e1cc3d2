package master

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// routeUsers adds the calls about users.
func (m *Master) routeUsers() {
	rpc.Handle(m.server, api.UserList, m.users)
	rpc.Handle(m.server, api.UserLimit, m.setLimits)
	rpc.HandleQuick(m.server, api.CertRenew, func(c rpc.Caller, r wire.RenewRequest) (wire.Renewed, error) {
		if m.cfg.Key == nil {
			return wire.Renewed{}, wire.Errorf(wire.Invalid, "this cluster has no key, and nobody needs a certificate")
		}
		return m.cfg.Key.Renew(c, r, time.Now())
	})
}

// historyLimits are the bytes of history that users may have, as of the last change. The history's own goroutine reads
// them.
type historyLimits struct {
	by     atomic.Pointer[map[string]int64]
	exempt func(user string) bool
}

// of returns the limit of a user; 0 if there is none.
func (l *historyLimits) of(user string) int64 {
	by := l.by.Load()
	if by == nil {
		return 0
	}
	own := wire.Limits{History: (*by)[user]}
	all := wire.Limits{History: (*by)[wire.AllUsers]}
	if l.exempt(user) {
		all = wire.Limits{}
	}
	return own.Or(all).History
}

// noteLimits, called in the loop, passes changed limits on to the history.
func (m *Master) noteLimits() {
	by := m.jobs.HistoryLimits()
	m.kept.by.Store(&by)
}

// setLimits changes the limits of a user.
func (m *Master) setLimits(ctx context.Context, c rpc.Caller, r wire.LimitRequest) (none, error) {
	return ask(ctx, m, func(now time.Duration) (none, error) {
		if err := m.jobs.SetLimits(now, r); err != nil {
			return none{}, err
		}
		m.noteLimits()
		m.cfg.Log.Info("limits changed", "user", r.User, "changes", r.Changes, "by", c.User)
		return none{}, nil
	})
}

// users returns those who have jobs, limits or files. Users see themselves and the limits of all; administrators see
// everybody.
func (m *Master) users(ctx context.Context, c rpc.Caller, _ none) ([]wire.UserStatus, error) {
	owners, err := m.names.Owners()
	if err != nil {
		return nil, err
	}
	all, err := ask(ctx, m, func(now time.Duration) ([]wire.UserStatus, error) { return m.jobs.Users(now, maps.Keys(owners)), nil })
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(s wire.UserStatus) bool { return m.private(c, s.User) && s.User != wire.AllUsers })
	for i := range all {
		s := &all[i]
		s.Usage = wire.Usage{QuotaFiles: wire.NoLimit, QuotaBytes: wire.NoLimit}
		if use, ok := owners[s.User]; ok {
			s.Usage = use
		}
		if m.past != nil {
			s.History = m.past.UserBytes(s.User)
		}
	}
	return all, nil
}
