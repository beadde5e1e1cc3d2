package attempt

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestListsOfMasters: a reduce asks for what is new since it asked last, from the beginning where another master has a shorter list than it has read, and
// ends with its job, or with an error that asking again does not mend.
func TestListsOfMasters(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		var asked []wire.OutputsRequest
		says := []wire.OutputsResponse{
			{Next: 2, Epoch: 1, Changes: []wire.MapOutput{{Map: 0, Try: 5, Addr: "w2:1"}, {Map: 1, Try: 6, Addr: "w2:1"}}},
			{Next: 1, Epoch: 2, Changes: []wire.MapOutput{{Map: 1, Lost: true}}}, // it answers a question of the other's list
			{Next: 1, Epoch: 2, Changes: []wire.MapOutput{{Map: 0, Try: 7, Addr: "w3:1"}}},
			{Next: 1, Epoch: 2}, // nothing new
			{Gone: true},
		}
		r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
			rpc.HandleQuick(s, api.StageOutputs, func(_ rpc.Caller, req wire.OutputsRequest) (wire.OutputsResponse, error) {
				asked = append(asked, req)
				if last := len(asked) >= len(says); last && refuses {
					return wire.OutputsResponse{}, wire.Errorf(wire.Denied, "not yours")
				}
				return says[min(len(asked), len(says))-1], nil
			})
		})
		r.Node, r.l.ID.Stage = "w1", 1
		f := newFetcher(r, 2)
		f.ctx, f.cancel = context.WithCancelCause(t.Context())
		f.listen()
		var want []wire.OutputsRequest
		for _, x := range []struct {
			from  int
			epoch uint64
		}{{0, 0}, {2, 1}, {0, 2}, {1, 2}, {1, 2}} {
			want = append(want, wire.OutputsRequest{StageRef: wire.StageRef{Job: "job-7", Stage: 1}, From: x.from, Wait: patience, Node: "w1", Epoch: x.epoch})
		}
		if !slices.Equal(asked, want) || f.want[0].Try != 7 || f.want[1].Try != 6 {
			t.Errorf("it asked %+v, and wants %+v", asked, f.want)
		}
		if err := context.Cause(f.ctx); !errors.Is(err, map[bool]error{false: wire.Stale, true: wire.Denied}[refuses]) {
			t.Errorf("it ends with %v", err)
		}
	}
}
