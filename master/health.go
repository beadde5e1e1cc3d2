package master

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// health returns an error if the master cannot work, and else what an operator should know.
func (m *Master) health(ctx context.Context) (string, error) {
	if _, err := ask(ctx, m, func(time.Duration) (none, error) { return none{}, nil }); err != nil {
		return "", err
	}
	if err := m.names.InCharge(); err != nil {
		return "", err
	}
	said := []string{"master is well"}
	if err := m.names.MayChange(); err != nil {
		said = append(said, err.Error())
	}
	return strings.Join(said, "; "), nil
}

// withRivals adds to a list of workers those that obey another master.
func (m *Master) withRivals(list []wire.NodeStatus) []wire.NodeStatus {
	for node, seen := range m.names.Rivals() {
		i := slices.IndexFunc(list, func(s wire.NodeStatus) bool { return s.Node == node })
		if i < 0 {
			i, list = len(list), append(list, wire.NodeStatus{Node: node})
		}
		list[i].State = "refused"
		list[i].Sick = fmt.Sprintf("it has obeyed another master, of epoch %d (this one: %d); see the master's log", seen.Epoch, m.names.Epoch())
	}
	return list
}
