package capacity

import "math"

// epsilon keeps products of percentages from falling just short of a whole
// number.
const epsilon = 1e-9

// CapSlots is the number of slots guaranteed to a queue with this part of a
// cluster (spec/capacity 3.3).
func CapSlots(part float64, cluster int32) int32 {
	return int32(math.Floor(part*float64(cluster) + epsilon))
}

// MaxSlots is the cap on a queue's slots. A cap that rounds to zero becomes one slot, not unlimited as in Hadoop
// (spec/capacity 3.5).
func MaxSlots(most float64, cluster int32) int32 { return max(1, CapSlots(most, cluster)) }

// UserLimit is the number of slots one user may hold in a queue (spec/capacity
// 3.5, allowed, lines 2 to 5): capSlots guaranteed, occupied held by all its
// users, active users competing, s slots per task, percent and factor as
// configured. It is never less than one task, so that small queues progress.
func UserLimit(capSlots, occupied, active, s int32, percent, factor float64) int32 {
	qc := max(capSlots, s)
	cur := qc
	if occupied >= qc {
		cur = occupied + s
	}
	n := max(1, active)
	share := max((cur+n-1)/n, int32(math.Ceil(percent*float64(cur)/100-epsilon)))
	return max(s, min(share, int32(math.Floor(float64(qc)*factor+epsilon))))
}

// JobLimits is how many jobs of a queue may be initialised and accepted.
type JobLimits struct {
	Init, InitPerUser     int
	Accept, AcceptPerUser int
}

// LimitsOf derives the job limits of a queue with this part of the cluster
// (spec/capacity 3.3).
func LimitsOf(maxSystemJobs int, part, userLimit float64, acceptFactor int) JobLimits {
	jobs := float64(maxSystemJobs) * part
	l := JobLimits{Init: int(math.Ceil(jobs - epsilon)), InitPerUser: int(math.Ceil(jobs*userLimit/100 - epsilon))}
	l.Accept, l.AcceptPerUser = l.Init*acceptFactor, l.InitPerUser*acceptFactor
	return l
}

// SlotsPerTask is how many slots a task of this memory takes (spec/capacity 3.6).
func SlotsPerTask(taskMB, slotMB int64) int32 { return int32(max(1, (taskMB+slotMB-1)/slotMB)) }
