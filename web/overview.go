package web

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/wire"
)

// overviewData is the first page: is all well, what runs, and how full is the cluster.
type overviewData struct {
	Policies wire.Policies
	Up       int
	Nodes    []wire.NodeStatus
	Racks    []rackData
	Room     int
	Used     int
	Jobs     jobTable
	Running  int
	Waiting  int
	Pending  int
	Usage    wire.Usage
	Load     chart.Chart
	Problems []string // what somebody should look at
}

// A rackData is a rack and its nodes.
type rackData struct {
	Rack  string
	Nodes []nodeBox
}

// A nodeBox is a node as a box with its containers.
type nodeBox struct {
	wire.NodeStatus
	Cells []bool // a container each, true if it is used; nil if there are too many to draw
}

// shownJobs is how many jobs the first page lists, and drawnCells how many containers it draws one by one.
const (
	shownJobs  = 20
	drawnCells = 2000
)

func (s *site) overview(ctx context.Context, _ *http.Request) (view, error) {
	q := &questions{site: s}
	d := overviewData{Nodes: get(ctx, q, api.NodeList, none{}), Policies: get(ctx, q, api.SchedulerGet, none{})}
	load, queues := get(ctx, q, api.ClusterLoad, none{}), get(ctx, q, api.QueueList, none{})
	active := get(ctx, q, api.JobList, wire.JobsRequest{Active: true, Limit: shownJobs})
	if q.err != nil {
		return view{}, q.err
	}
	d.countNodes()
	for _, q := range queues {
		d.Running, d.Waiting, d.Pending = d.Running+q.Running, d.Waiting+q.Waiting, d.Pending+q.Pending
	}
	d.Jobs = tableOf(active, load.Now)
	d.Load = withRoom(loadChart(load, "Containers in use, by queue", func(q wire.LoadQueue) int { return q.Tasks }), load)
	s.health(ctx, &d)
	return view{Page: "overview", Title: "Cluster", Data: &d}, nil
}

func (d *overviewData) countNodes() {
	d.Racks = racksOf(d.Nodes)
	for _, n := range d.Nodes {
		if n.State == "up" {
			d.Up++
		} else {
			d.Problems = append(d.Problems, fmt.Sprintf("node %s is %s %s", n.Node, n.State, n.Sick))
		}
		if n.State != "down" {
			d.Room, d.Used = d.Room+n.Capacity.Attempts(), d.Used+n.Running
		}
	}
	if len(d.Nodes) == 0 {
		d.Problems = append(d.Problems, "no worker has joined yet: millrace worker --master ADDRESS --dir DIR")
	}
	if len(d.Problems) > shownJobs {
		d.Problems = append(d.Problems[:shownJobs], fmt.Sprintf("and %d nodes more", len(d.Problems)-shownJobs))
	}
}

// racksOf groups nodes by their racks.
func racksOf(nodes []wire.NodeStatus) []rackData {
	by := map[string]*rackData{}
	var racks []*rackData
	cells := 0
	for _, n := range nodes {
		r := by[n.Rack]
		if r == nil {
			r = &rackData{Rack: n.Rack}
			by[n.Rack], racks = r, append(racks, r)
		}
		box := nodeBox{NodeStatus: n}
		if room := n.Capacity.Attempts(); cells+room <= drawnCells && n.State != "down" {
			cells += room
			box.Cells = make([]bool, max(room, n.Running))
			for i := range n.Running {
				box.Cells[i] = true
			}
		}
		r.Nodes = append(r.Nodes, box)
	}
	slices.SortFunc(racks, func(a, b *rackData) int { return cmp.Compare(a.Rack, b.Rack) })
	out := make([]rackData, len(racks))
	for i, r := range racks {
		out[i] = *r
	}
	return out
}

// More returns how many jobs the page does not list.
func (d *overviewData) More() int { return d.Running + d.Waiting - len(d.Jobs) }

// health checks the store and the network. If one cannot be asked, that is a problem on the page, not the end of it.
func (s *site) health(ctx context.Context, d *overviewData) {
	var err error
	if d.Usage, err = ask(ctx, s, api.DFSUsage, wire.QuotaRequest{Path: "/"}); err != nil {
		d.Problems = append(d.Problems, "block store: "+err.Error())
	}
	if m, err := ask(ctx, s, api.DFSSafemode, wire.SafeModeRequest{}); err == nil && m.On {
		d.Problems = append(d.Problems, "the block store is in safe mode and takes no changes: "+m.Why)
	}
	if n, err := ask(ctx, s, api.NetStatus, none{}); err == nil {
		for _, r := range n.Racks {
			if r.Congested {
				d.Problems = append(d.Problems, fmt.Sprintf("the link of rack %s is congested", r.Rack))
			}
		}
	}
	if nodes, err := ask(ctx, s, api.DFSNodes, none{}); err == nil {
		for _, n := range nodes {
			for _, v := range n.Volumes {
				if v.Failed != "" {
					d.Problems = append(d.Problems, fmt.Sprintf("volume %s of node %s has failed: %s", v.ID, n.Node, v.Failed))
				}
			}
		}
	}
	slices.Sort(d.Problems)
}

// loadChart stacks what queues did over the last quarter of an hour.
func loadChart(load wire.Load, title string, of func(wire.LoadQueue) int) chart.Area {
	a := chart.Area{Frame: chart.Frame{Title: title, Width: 900, Height: 220, X: chart.Axis{Label: "minutes; now is 0"}, Y: chart.Axis{Label: "attempts"}}}
	if n := len(load.Samples); n > 0 {
		load.Now = load.Samples[n-1].At // so that a chart differs only when there is something new
		a.X.Min = -max(1, math.Ceil(float64(load.Now-load.Samples[0].At)/60_000))
	}
	layer := map[string]int{}
	for i, s := range load.Samples {
		a.At = append(a.At, -float64(load.Now-s.At)/60_000)
		for _, q := range s.Queues {
			name := cmp.Or(q.Queue, "other queues")
			k, ok := layer[name]
			if !ok {
				k = len(a.Series)
				layer[name], a.Series = k, append(a.Series, chart.Layer{Name: name, Values: make([]float64, len(load.Samples))})
			}
			a.Series[k].Values[i] = float64(of(q))
		}
	}
	slices.SortFunc(a.Series, func(x, y chart.Layer) int { return cmp.Compare(x.Name, y.Name) })
	if n := len(load.Samples); n > 0 && len(a.Series) == 0 {
		a.Series = []chart.Layer{{Name: "idle", Values: make([]float64, n)}}
	}
	return a
}

// withRoom marks how much room there is.
func withRoom(a chart.Area, load wire.Load) chart.Chart {
	if n := len(load.Samples); n > 0 {
		a.Marks = []chart.Mark{{Name: "capacity", Value: float64(load.Samples[n-1].Room)}}
	}
	return a
}
