package master

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// health returns an error if the master cannot work, and else what an operator should know.
func (m *Master) health(ctx context.Context) (string, error) {
	if _, err := ask(ctx, m, func(time.Duration) (none, error) { return none{}, nil }); err != nil {
		return "", err
	}
	if err := cmp.Or(m.names.InCharge(), m.room()); err != nil {
		return "", err
	}
	said := []string{"master is well"}
	if err := m.names.MayChange(); err != nil {
		said = append(said, err.Error())
	}
	said = append(said, m.wounds()...)
	return strings.Join(said, "; "), nil
}

// wounds lists what was missing on disk when this master began, and what the history lacks.
func (m *Master) wounds() (list []string) {
	for _, cut := range []string{m.names.Cut(), m.log.journal.Cut()} {
		if cut != "" {
			list = append(list, cut)
		}
	}
	if h, err := m.history(); err != nil {
		list = append(list, err.Error())
	} else if p := h.Problem(); p != nil {
		list = append(list, "history: "+strings.ReplaceAll(p.Error(), "\n", "; "))
	}
	return list
}

// nodes lists the workers, also those that obey another master.
func (m *Master) nodes(ctx context.Context, _ rpc.Caller, _ none) ([]wire.NodeStatus, error) {
	list, err := ask(ctx, m, func(now time.Duration) ([]wire.NodeStatus, error) { return m.jobs.Nodes(now), nil })
	for node, seen := range m.names.Rivals() {
		i := slices.IndexFunc(list, func(s wire.NodeStatus) bool { return s.Node == node })
		if i < 0 {
			i, list = len(list), append(list, wire.NodeStatus{Node: node})
		}
		list[i].State = "refused"
		list[i].Sick = fmt.Sprintf("it has obeyed another master, of epoch %d (this one: %d); see the master's log", seen.Epoch, m.names.Epoch())
	}
	return list, err
}
