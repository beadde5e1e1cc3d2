package master

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// TestMetricsOfWork: what jobs do, what the policies decided and what the block store holds is counted, each in its place.
func TestMetricsOfWork(t *testing.T) {
	m := served(t, func(c *Config) { c.Admission = "marp" })
	home(t, m, "ann")
	put(t, m, "ann", "/ann/words", 0o644)
	volumes := []wire.Volume{{ID: "v1", Total: 1000, Free: 300}}
	if _, err := m.names.Register(wire.RegisterRequest{Node: "w1", Rack: "r1", Addr: "127.0.0.1:1", Volumes: volumes}); err != nil {
		t.Fatal(err)
	}
	h := newHand(t, m, "w1")
	done, bad, runs := submitted(t, m, ann, sleepJob("done")), submitted(t, m, ann, sleepJob("bad")), submitted(t, m, ann, sleepJob("runs"))
	h.succeed(done)
	h.breakDown(bad, "no")
	h.plan(runs, 2, 1)
	h.of(runs, wire.MapTask, 2)
	h.say()
	_, text := get(t, http.DefaultClient, "http://"+m.Addr()+"/metrics")
	for _, line := range []string{
		`millrace_queue_jobs{queue="default",state="waiting"} 0`, `millrace_queue_jobs{queue="default",state="running"} 1`,
		`millrace_queue_jobs{queue="default",state="succeeded"} 1`, `millrace_queue_jobs{queue="default",state="failed"} 1`,
		`millrace_queue_attempts{queue="default"} 3`, `millrace_queue_tasks_left{queue="default"} 3`, `millrace_node_attempts{node="w1",rack="r1"} 3`,
		`millrace_policy_decisions_total{what="admit"} 3`, `millrace_policy_decisions_total{what="reject"} 0`, `millrace_policy_decisions_total{what="stop"} 0`,
		`millrace_policy_decisions_total{what="forget"} 0`, `millrace_policy_decisions_total{what="second"} 0`, `millrace_policy_broken_rules_total 0`,
		`millrace_policy_figure{figure="marp"} `, `millrace_node_silence_seconds{node="w1",rack="r1"} `,
		`millrace_congestion_episodes_total{rack="r1"} 0`, `millrace_congested_seconds_total{rack="r1"} 0`, `millrace_link_bytes_total{direction="down",rack="r1"} 0`,
		`millrace_store_files 1`, `millrace_store_bytes{counted="once"} 0`, `millrace_store_bytes{counted="replicated"} 0`, `millrace_store_safe_mode 0`,
		`millrace_store_node_blocks{node="w1",state="live"} 0`,
		`millrace_store_volume_bytes{node="w1",volume="v1",what="total"} 1000`, `millrace_store_volume_bytes{node="w1",volume="v1",what="free"} 300`,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("%s is not in the metrics", line)
		}
	}
	if strings.Contains(text, "millrace_link_utilisation{") {
		t.Error("the share of a link of unknown rate is told")
	}
	launched := must(t, m, ann, api.SchedulerStatus, struct{}{}).Launched
	if line := fmt.Sprintf("\nmillrace_policy_decisions_total{what=\"launch\"} %d\n", launched); launched < 9 || !strings.Contains(text, line) {
		t.Errorf("%d launches, and no line %s", launched, line)
	}
	if _, err := m.names.SafeMode(wire.SafeModeRequest{Set: "enter"}); err != nil {
		t.Fatal(err)
	}
	if _, text = get(t, http.DefaultClient, "http://"+m.Addr()+"/metrics"); !strings.Contains(text, "\nmillrace_store_safe_mode 1\n") {
		t.Error("safe mode is not in the metrics")
	}
}
