package master

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/metrics"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// families lists the metrics of a master; docs/operations.md describes them.
var families = []metrics.Family{
	{Name: "millrace_policy_info", Help: "The policies in use; always 1.", Labels: []string{"policy", "admission"}},
	{Name: "millrace_policy_decisions_total", Help: "What the policies have decided: launch, second (attempts among them), stop, forget, admit, reject.", Labels: []string{"what"}, Counter: true},
	{Name: "millrace_policy_broken_rules_total", Help: "Rounds in which a policy broke a rule.", Counter: true},
	{Name: "millrace_policy_figure", Help: "Numbers that the policies work with, such as marp, the part of the cluster that drivers may hold.", Labels: []string{"figure"}},
	{Name: "millrace_queue_jobs", Help: "Jobs that the master remembers.", Labels: []string{"queue", "state"}},
	{Name: "millrace_queue_attempts", Help: "Attempts of tasks that run.", Labels: []string{"queue"}},
	{Name: "millrace_queue_tasks_left", Help: "Tasks of unfinished jobs that are not done.", Labels: []string{"queue"}},
	{Name: "millrace_node_state", Help: "1 for the state that a worker is in.", Labels: []string{"node", "rack", "state"}},
	{Name: "millrace_node_attempts", Help: "Attempts that a worker runs, drivers too.", Labels: []string{"node", "rack"}},
	{Name: "millrace_node_containers", Help: "Containers or slots of a worker.", Labels: []string{"node", "rack"}},
	{Name: "millrace_node_silence_seconds", Help: "Time since a worker was last heard of.", Labels: []string{"node", "rack"}},
	{Name: "millrace_node_sent_bytes_total", Help: "Bytes sent to other nodes.", Labels: []string{"node", "rack", "what"}, Counter: true},
	{Name: "millrace_link_bytes_total", Help: "Bytes over a rack's link to the core.", Labels: []string{"rack", "direction"}, Counter: true},
	{Name: "millrace_link_utilisation", Help: "Share of a rack's link that is used; only where its rate is known.", Labels: []string{"rack", "direction"}},
	{Name: "millrace_congestion_episodes_total", Help: "How often a rack's link became congested.", Labels: []string{"rack"}, Counter: true},
	{Name: "millrace_congested_seconds_total", Help: "How long a rack's link was congested.", Labels: []string{"rack"}, Counter: true},
	{Name: "millrace_store_files", Help: "Files in the block store."},
	{Name: "millrace_store_bytes", Help: "Bytes of these files: once, and with all replicas.", Labels: []string{"counted"}},
	{Name: "millrace_store_safe_mode", Help: "1 while the block store takes no changes."},
	{Name: "millrace_store_node_blocks", Help: "Replicas that a node holds.", Labels: []string{"node", "state"}},
	{Name: "millrace_store_volume_bytes", Help: "Size of a volume, and what is free of it.", Labels: []string{"node", "volume", "what"}},
}

// routeMetrics adds the routes for monitoring. Anybody may ask whether the master is well. With a key, only those who
// may look at jobs get the numbers; without one anybody does, as scrapers do not say who they are.
func (m *Master) routeMetrics() {
	e, rule := metrics.New(families, m.collect), rpc.Anyone
	if m.cfg.Key != nil {
		rule = rpc.Users
	}
	m.server.HandleHTTP("GET /metrics", rule, rpc.Control, func(w http.ResponseWriter, r *http.Request, _ rpc.Caller) { e.ServeHTTP(w, r) })
	m.server.HandleHTTP("GET /healthz", rpc.Anyone, rpc.Control, func(w http.ResponseWriter, r *http.Request, _ rpc.Caller) {
		_, err := ask(r.Context(), m, func(time.Duration) (none, error) { return none{}, nil })
		if err == nil {
			err = m.room()
		}
		metrics.Health(w, err)
	})
}

func (m *Master) collect(ctx context.Context, put metrics.Put) error {
	queues, err := m.queues(ctx, rpc.Caller{}, none{})
	if err != nil {
		return err
	}
	for _, q := range queues {
		for state, n := range map[string]int{"waiting": q.Waiting, "running": q.Running, "succeeded": q.Succeeded, "failed": q.Failed} {
			put("millrace_queue_jobs", float64(n), q.Queue, state)
		}
		put("millrace_queue_attempts", float64(q.Tasks), q.Queue)
		put("millrace_queue_tasks_left", float64(q.Pending), q.Queue)
	}
	type seen struct {
		nodes []wire.NodeStatus
		did   wire.SchedulerStatus
	}
	s, err := ask(ctx, m, func(now time.Duration) (seen, error) {
		return seen{m.jobs.Nodes(now), m.tally(now)}, nil
	})
	if err != nil {
		return err
	}
	putDecisions(put, &s.did)
	for i := range s.nodes {
		putNode(put, &s.nodes[i])
	}
	net, err := m.netStatus(ctx, rpc.Caller{}, none{})
	if err != nil {
		return err
	}
	putNet(put, &net)
	return m.collectStore(put)
}

func putDecisions(put metrics.Put, s *wire.SchedulerStatus) {
	put("millrace_policy_info", 1, s.Policy.Name, s.Admission.Name)
	for what, n := range map[string]int64{
		"launch": s.Launched, "second": s.Seconds, "stop": s.Stopped, "forget": s.Forgotten, "admit": s.Admitted, "reject": s.Rejected,
	} {
		put("millrace_policy_decisions_total", float64(n), what)
	}
	put("millrace_policy_broken_rules_total", float64(s.Broken))
	for _, f := range s.Figures {
		if f.Job == "" {
			put("millrace_policy_figure", f.Value, f.Name)
		}
	}
}

func putNode(put metrics.Put, n *wire.NodeStatus) {
	node := string(n.Node)
	put("millrace_node_state", 1, node, n.Rack, n.State)
	put("millrace_node_attempts", float64(n.Running), node, n.Rack)
	put("millrace_node_containers", float64(n.Capacity.Attempts()), node, n.Rack)
	put("millrace_node_silence_seconds", float64(n.Silent)/1000, node, n.Rack)
}

func putNet(put metrics.Put, s *wire.NetStatus) {
	for _, n := range s.Nodes {
		for what, bytes := range n.Sent {
			put("millrace_node_sent_bytes_total", float64(bytes), string(n.Node), n.Rack, what)
		}
	}
	for _, r := range s.Racks {
		put("millrace_link_bytes_total", float64(r.UpBytes), r.Rack, "up")
		put("millrace_link_bytes_total", float64(r.DownBytes), r.Rack, "down")
		if r.Uplink > 0 {
			put("millrace_link_utilisation", r.UpShare, r.Rack, "up")
			put("millrace_link_utilisation", r.DownShare, r.Rack, "down")
		}
		put("millrace_congestion_episodes_total", float64(r.Episodes), r.Rack)
		put("millrace_congested_seconds_total", float64(r.CongestedMillis)/1000, r.Rack)
	}
}

func (m *Master) collectStore(put metrics.Put) error {
	use, err := m.names.Usage(wire.QuotaRequest{Path: "/"})
	if err != nil {
		return err
	}
	mode, err := m.names.SafeMode(wire.SafeModeRequest{})
	if err != nil {
		return err
	}
	put("millrace_store_files", float64(use.Files))
	put("millrace_store_bytes", float64(use.Len), "once")
	put("millrace_store_bytes", float64(use.Bytes), "replicated")
	safe := 0.0
	if mode.On {
		safe = 1
	}
	put("millrace_store_safe_mode", safe)
	for _, n := range m.names.Nodes() {
		put("millrace_store_node_blocks", float64(n.Blocks), string(n.Node), n.State)
		for _, v := range n.Volumes {
			put("millrace_store_volume_bytes", float64(v.Total), string(n.Node), v.ID, "total")
			put("millrace_store_volume_bytes", float64(v.Free), string(n.Node), v.ID, "free")
		}
	}
	return nil
}
