package web

import (
	"context"
	"net/http"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// nodesData is the page of the workers, with what the store and the network know about them.
type nodesData struct {
	Rows    []nodeRow
	Problem string
}

type nodeRow struct {
	wire.NodeStatus
	Store wire.StoreNode
	Net   wire.NetNode
	Total int64 // of its volumes, in bytes
	Free  int64
}

func (s *site) nodes(ctx context.Context, _ *http.Request) (view, error) {
	list, err := ask(ctx, s, api.NodeList, none{})
	if err != nil {
		return view{}, err
	}
	d := &nodesData{}
	stores, err := ask(ctx, s, api.DFSNodes, none{})
	if err != nil {
		d.Problem = err.Error()
	}
	net, err := ask(ctx, s, api.NetStatus, none{})
	if err != nil {
		d.Problem = err.Error()
	}
	for _, n := range list {
		row := nodeRow{NodeStatus: n, Net: wire.NetNode{Idle: -1}}
		for _, st := range stores {
			if st.Node == n.Node {
				row.Store = st
			}
		}
		for _, nn := range net.Nodes {
			if nn.Node == n.Node {
				row.Net = nn
			}
		}
		for _, v := range row.Store.Volumes {
			row.Total, row.Free = row.Total+v.Total, row.Free+v.Free
		}
		d.Rows = append(d.Rows, row)
	}
	return view{Page: "nodes", Title: "Nodes", Data: d}, nil
}

// Busy returns how much of the node's processors is used, 0 to 1; negative if unknown.
func (n nodeRow) Busy() float64 {
	if n.Net.Idle < 0 {
		return -1
	}
	return 1 - n.Net.Idle/100
}

// queuesData is the page of the queues, with their present and recent load.
type queuesData struct {
	Queues         []wire.QueueStatus
	Plans          wire.Plans
	Tasks, Pending chart.Chart
}

func (s *site) queues(ctx context.Context, _ *http.Request) (view, error) {
	q := &questions{site: s}
	list, load, plans := get(ctx, q, api.QueueList, none{}), get(ctx, q, api.ClusterLoad, none{}), get(ctx, q, api.SchedulerPlan, wire.PlanRequest{})
	if q.err != nil {
		return view{}, q.err
	}
	return view{Page: "queues", Title: "Queues", Data: &queuesData{
		Queues:  list,
		Plans:   plans,
		Tasks:   withRoom(loadChart(load, "Attempts that ran", func(q wire.LoadQueue) int { return q.Tasks }), load),
		Pending: loadChart(load, "Tasks that were not done", func(q wire.LoadQueue) int { return q.Pending }),
	}}, nil
}

// networkData is the page of the network.
type networkData struct {
	wire.NetStatus
	Heat chart.Chart
}

func (s *site) network(ctx context.Context, _ *http.Request) (view, error) {
	n, err := ask(ctx, s, api.NetStatus, none{})
	if err != nil {
		return view{}, err
	}
	n.Sort(human.Compare)
	h := chart.Heat{Frame: chart.Frame{Title: "Sent from rack to rack, MiB", X: chart.Axis{Label: "to"}}, Unit: " MiB"}
	for _, r := range n.Racks {
		h.Rows, h.Columns = append(h.Rows, r.Rack), append(h.Columns, r.Rack)
		row := make([]float64, len(r.To))
		for i, b := range r.To {
			row[i] = float64(b) / (1 << 20)
		}
		h.Values = append(h.Values, row)
	}
	return view{Page: "network", Title: "Network", Data: &networkData{n, h}}, nil
}
