package sizebased

import "github.com/millrace/millrace/scheduler"

// The five policies.
var (
	FBQInfo  = info(FBQ, "K queues by attained service; young jobs first", "spec/slowdown 3.2")
	TAGSInfo = info(TAGS, "K queues by attained service, each with its own nodes", "spec/slowdown 3.3")
	SITAInfo = info(SITA, "K queues by predicted size, each with its own nodes", "spec/slowdown 3.4")
	COMPInfo = info(COMP, "K queues by comparison with the last K-1 finished jobs", "spec/slowdown 3.5")
	SRPTInfo = scheduler.Info{
		Name: "srpt", Seam: scheduler.Assignment, Summary: "least remaining work first, sizes known: an oracle to compare with",
		Source: "spec/slowdown 3.7", Setup: scheduler.Bind(DefaultSRPTConfig, (*SRPTConfig).params, NewSRPT),
	}
)

func info(d Discipline, summary, source string) scheduler.Info {
	i := scheduler.Info{
		Name: d.String(), Seam: scheduler.Assignment, Summary: summary, Source: source,
		Setup: scheduler.Bind(func() Config { return DefaultConfig(d) }, (*Config).params, New),
	}
	if d != COMP {
		i.Live, i.LiveUnless = map[string]string{"fit": "true"}, []string{"limits"}
	}
	return i
}

// params binds the parameters of the discipline.
func (c *Config) params() []scheduler.Param {
	d := c.Discipline
	out := []scheduler.Param{scheduler.Int(&c.K, "k", "spec/slowdown 3.2 to 3.5", "number of queues; more: finer classes of size, more limits to get right").In(1, 64)}
	if d != COMP {
		out = append(out, scheduler.Floats(&c.Limits, "limits", "spec/slowdown 3.2 to 3.4",
			"L_1..L_(k-1) in slot-seconds, increasing; empty: the published ones (fbq 12000, for k=4 4000,10000,36000; tags 14000; sita 18000)").Above0(1e15),
			scheduler.Bool(&c.Fit, "fit", "ours", "limits from the sizes of the last 200 finished jobs, those below L_i having done (i/k)^2 of all work; before 5 have finished, 2 s of the whole cluster, each next limit 3 times that"))
	}
	if d.Partitioned() {
		out = append(out,
			scheduler.Floats(&c.Shares, "shares", "spec/slowdown 3.3, 3.4", "part of the nodes of each queue, adding up to 1; empty: the published ones (tags 0.5,0.5; sita 0.3,0.7)").Above0(1),
			scheduler.Bool(&c.Lend, "lend", "spec/slowdown 3.3", "give what a partition cannot use to the other queues; the published partitions are strict"))
	}
	if d.Feedback() {
		out = append(out,
			scheduler.Bool(&c.PerQueue, "per-queue", "spec/slowdown 6.4", "count service since the job entered its queue, not since it arrived"),
			scheduler.Bool(&c.CountWait, "count-wait", "spec/slowdown 6.2", "count the time that launched reduces wait for maps as service"),
			scheduler.Either(&c.OnCompletion, [2]string{"event", "completion"}, "check", "spec/slowdown 6.5", "when limits are checked: at every event, or only when a task of the job ends"))
	} else {
		out = append(out, c.Predict.params()...)
	}
	if d == TAGS {
		out = append(out, scheduler.Bool(&c.Restart, "restart", "spec/slowdown 3.3", "stop a job that moves down and start it from nothing: an ablation that wastes work"))
	}
	return append(out, c.Reduces.Params()...)
}
