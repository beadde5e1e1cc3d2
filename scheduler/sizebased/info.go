package sizebased

import "github.com/millrace/millrace/scheduler"

// The five policies.
var (
	FBQInfo  = info(FBQ, "K queues by attained service; young jobs first", "slowdown.md 3.2")
	TAGSInfo = info(TAGS, "K queues by attained service, each with its own nodes", "slowdown.md 3.3")
	SITAInfo = info(SITA, "K queues by predicted size, each with its own nodes", "slowdown.md 3.4")
	COMPInfo = info(COMP, "K queues by comparison with the last K-1 finished jobs", "slowdown.md 3.5")
	SRPTInfo = scheduler.Info{
		Name: "srpt", Seam: scheduler.Assignment, Summary: "least remaining work first, sizes known: an oracle to compare with",
		Source: "slowdown.md 3.7", Params: srptParams(), New: func(p scheduler.Params) (any, error) { return NewSRPT(srptConfigOf(p)) },
	}
)

func info(d Discipline, summary, source string) scheduler.Info {
	return scheduler.Info{
		Name: d.String(), Seam: scheduler.Assignment, Summary: summary, Source: source,
		Params: params(d), New: func(p scheduler.Params) (any, error) { return New(configOf(d, p)) },
	}
}

func params(d Discipline) []scheduler.Param {
	out := []scheduler.Param{{
		Name: "k", Type: scheduler.IntParam, Default: "2", Min: 1, Max: 64, Source: "slowdown.md 3.2 to 3.5",
		Doc: "number of queues; more: finer classes of size, more limits to get right",
	}}
	if d != COMP {
		out = append(out, scheduler.Param{
			Name: "limits", Type: scheduler.FloatsParam, Positive: true, Max: 1e15, Source: "slowdown.md 3.2 to 3.4",
			Doc: "L_1..L_(k-1) in slot-seconds, increasing; empty: the published ones (fbq 12000, for k=4 4000,10000,36000; tags 14000; sita 18000)",
		})
	}
	if d.Partitioned() {
		out = append(out, partitionParams()...)
	}
	if d.Feedback() {
		out = append(out, feedbackParams()...)
	} else {
		out = append(out, predictParams()...)
	}
	if d == TAGS {
		out = append(out, flag("restart", "false", "stop a job that moves down and start it from nothing: an ablation that wastes work", "slowdown.md 3.3"))
	}
	return append(out, scheduler.ReduceParams()...)
}

func flag(name, def, doc, source string) scheduler.Param {
	return scheduler.Param{Name: name, Type: scheduler.BoolParam, Default: def, Doc: doc, Source: source}
}

func partitionParams() []scheduler.Param {
	return []scheduler.Param{
		{
			Name: "shares", Type: scheduler.FloatsParam, Positive: true, Max: 1, Source: "slowdown.md 3.3, 3.4",
			Doc: "part of the nodes of each queue, adding up to 1; empty: the published ones (tags 0.5,0.5; sita 0.3,0.7)",
		},
		flag("lend", "false", "give what a partition cannot use to the other queues; the published partitions are strict", "slowdown.md 3.3"),
	}
}

func feedbackParams() []scheduler.Param {
	return []scheduler.Param{
		flag("per-queue", "false", "count service since the job entered its queue, not since it arrived", "slowdown.md 6.4"),
		flag("count-wait", "true", "count the time that launched reduces wait for maps as service", "slowdown.md 6.2"),
		{
			Name: "check", Type: scheduler.ChoiceParam, Default: "event", Choices: []string{"event", "completion"}, Source: "slowdown.md 6.5",
			Doc: "when limits are checked: at every event, or only when a task of the job ends",
		},
	}
}

func configOf(d Discipline, p scheduler.Params) Config {
	c := DefaultConfig(d)
	c.K, c.Reduces = p.Int("k"), scheduler.ReduceRuleOf(p)
	if d != COMP {
		c.Limits = p.Floats("limits")
	}
	if d.Partitioned() {
		c.Shares, c.Lend = p.Floats("shares"), p.Bool("lend")
	}
	if d.Feedback() {
		c.PerQueue, c.CountWait, c.OnCompletion = p.Bool("per-queue"), p.Bool("count-wait"), p.String("check") == "completion"
	} else {
		c.Predict = predictConfigOf(p)
	}
	if d == TAGS {
		c.Restart = p.Bool("restart")
	}
	return c
}
