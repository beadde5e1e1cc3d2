package worker

import (
	"context"
	"net/http"

	"github.com/millrace/millrace/internal/metrics"
	"github.com/millrace/millrace/internal/rpc"
)

// families are the metrics of a worker itself. The master exports what it knows of the worker.
// docs/operations.md has the list.
var families = []metrics.Family{
	{Name: "millrace_worker_attempts", Help: "Attempts that run here, drivers too."},
	{Name: "millrace_worker_memory_bytes", Help: "Memory for sorting and shuffling: the budget, and what is in use.", Labels: []string{"what"}},
	{Name: "millrace_worker_replicas", Help: "Blocks that are stored here."},
	{Name: "millrace_worker_volume_bytes", Help: "Size of a volume, and what is free of it.", Labels: []string{"volume", "what"}},
	{Name: "millrace_worker_volume_failed", Help: "1 for a volume that is not used any more.", Labels: []string{"volume"}},
	{Name: "millrace_worker_sent_bytes_total", Help: "Bytes sent to others over connections of this process.", Labels: []string{"what"}, Counter: true},
	{Name: "millrace_worker_received_bytes_total", Help: "Bytes received from others over connections of this process.", Labels: []string{"what"}, Counter: true},
}

// routeMetrics adds what monitoring reads. With a key, only users may read it.
func (w *Worker) routeMetrics() {
	e, rule := metrics.New(families, w.collect), rpc.Anyone
	if w.cfg.Key != nil {
		rule = rpc.Users
	}
	w.server.HandleHTTP("GET /metrics", rule, rpc.Control, func(rw http.ResponseWriter, r *http.Request, _ rpc.Caller) { e.ServeHTTP(rw, r) })
	w.server.HandleHTTP("GET /healthz", rpc.Anyone, rpc.Control, func(rw http.ResponseWriter, _ *http.Request, _ rpc.Caller) { metrics.Health(rw, w.ctx.Err()) })
}

func (w *Worker) collect(_ context.Context, put metrics.Put) error {
	w.mu.Lock()
	busy := w.roster.Busy()
	w.mu.Unlock()
	put("millrace_worker_attempts", float64(busy))
	put("millrace_worker_memory_bytes", float64(w.pool.Budget()), "budget")
	put("millrace_worker_memory_bytes", float64(w.pool.InUse()), "in use")
	put("millrace_worker_replicas", float64(w.store.Count()))
	for _, v := range w.store.Volumes() {
		failed := 0.0
		if v.Failed != "" {
			failed = 1
		}
		put("millrace_worker_volume_failed", failed, v.ID)
		put("millrace_worker_volume_bytes", float64(v.Total), v.ID, "total")
		put("millrace_worker_volume_bytes", float64(v.Free), v.ID, "free")
	}
	for what, b := range w.traffic.byKind() {
		put("millrace_worker_sent_bytes_total", float64(b.Sent), string(what))
		put("millrace_worker_received_bytes_total", float64(b.Received), string(what))
	}
	return nil
}

// byKind adds up what the connections of this process have carried. It does not divide this by peer, since
// peers choose their names. The meters are never replaced and have locks of their own.
func (t *traffic) byKind() map[rpc.Traffic]rpc.Bytes {
	out := map[rpc.Traffic]rpc.Bytes{}
	for _, m := range t.meters {
		for p, b := range m.Read() {
			sum := out[p.What]
			out[p.What] = rpc.Bytes{Sent: sum.Sent + b.Sent, Received: sum.Received + b.Received}
		}
	}
	return out
}
