package scheduler

// A ReduceRule says when reduces may compete with maps. Policies share it so
// that experiments can hold it constant.
type ReduceRule struct {
	// Slowstart is the fraction of done maps from which reduces may start.
	// Negative: each job's own (JobSpec.Slowstart). Larger: fewer containers
	// wait idle, shuffles start later. The experiments of spec/nas use 0.2.
	Slowstart float64
	// Share is the part of a node's containers that reduces may take while maps
	// are pending, where kinds share containers; 1 serves reduces first always
	// (spec/marp Appendix A). Default 0.5 (spec/nas 3).
	Share float64
	// Hold keeps a job's reduces back until its last map is placed. It cures the
	// slow-start deadlock of spec/marp 2.3 and delays shuffles. Default false.
	Hold bool
	// Ramp makes a job's reduces follow its maps: while maps of it wait for room, its reduces hold at most this part of
	// what it holds, and waiting ones give way to maps. 0 (default): as published. A live cluster and sim run use 0.5,
	// as Hadoop.
	Ramp float64
	// Ripe starts reduces that wait for nobody first, even if reduces hold their share, as Ramp does. Default false: as
	// published. A live cluster and sim run use true.
	Ripe bool
}

// DefaultReduceRule returns the defaults.
func DefaultReduceRule() ReduceRule { return ReduceRule{Slowstart: -1, Share: 0.5} }

// Eligible reports whether a task of kind k of j may be assigned now.
func (r *ReduceRule) Eligible(j *Job, k Kind) bool {
	if !j.isPending[k] || k == Map {
		return j.isPending[k]
	}
	if r.Hold && j.tasks[Map].pending > 0 {
		return false
	}
	if r.Slowstart >= 0 {
		return j.PastSlowstart(r.Slowstart)
	}
	return j.ReduceReady()
}

// Why says why a reduce of j is not eligible.
func (r *ReduceRule) Why(j *Job) Reason {
	if r.Hold && j.tasks[Map].pending > 0 {
		return Reason{Code: ForSlowstart, Say: "{job} holds its reduces until its last {a} maps are placed", Job: j.id, A: int64(j.Pending(Map))}
	}
	need := j.startAt
	if r.Slowstart >= 0 {
		need = slowstartMaps(r.Slowstart, j.Total(Map))
	}
	return Reason{Code: ForSlowstart, Say: "reduces of {job} wait for slow start: {a} of {b} maps done", Job: j.id, A: int64(j.Done(Map)), B: int64(need)}
}

// Params binds the three parameters of the rule.
func (r *ReduceRule) Params() []Param {
	return []Param{
		Float(&r.Slowstart, "slowstart", "spec/nas 3.14", "fraction of done maps from which reduces may start; -1: each job's own").In(-1, 1),
		Float(&r.Share, "reduce-share", "spec/nas 3", "part of a node's shared containers that reduces may take while maps are pending").In(0, 1),
		Bool(&r.Hold, "hold-reduces", "spec/marp 6, item 3", "keep a job's reduces back until its last map is placed"),
	}
}
