package mapreduce

import (
	"fmt"
	"time"
)

// Scheduling is what a job tells the scheduler of a cluster about itself, beside user, queue, pool, priority and
// deadline. The zero value means the cluster's defaults. `millrace scheduler show POLICY` lists what a policy reads.
type Scheduling struct {
	// Weight is the job's share relative to others. 0 means 1.
	Weight float64
	// Slowstart is the fraction of the maps that must be done before reduces may start. 0 means the cluster's; a
	// negative value means at once.
	Slowstart float64
	// ReduceCost is what a reduce costs, a map being 1, for the deadline policies. 0 means 1.
	ReduceCost float64
	// Recurring says that jobs of this name and user recur, so that what is known of earlier ones can be trusted.
	Recurring bool
	// MapDemand, ReduceDemand and DriverDemand are what an attempt takes on a node. Fields that ReduceDemand leaves
	// at 0 are those of MapDemand.
	MapDemand, ReduceDemand, DriverDemand Demand
	// Expect is what is known of the job before it has run.
	Expect Expect
}

// A Demand is what one attempt takes on a node; 0 means as much as usual.
type Demand struct {
	VCores      int
	MemoryBytes int64
}

// Expect is what is known of a job before it has run. 0 means unknown.
type Expect struct {
	InputBytes, ShuffleBytes int64
	MapTime, ReduceTime      time.Duration // of one task
}

// validate refuses impossible values.
func (s *Scheduling) validate() error {
	field := func(name, format string, args ...any) error {
		return &FieldError{"Scheduling." + name, fmt.Sprintf(format, args...)}
	}
	switch e := &s.Expect; {
	case !(s.Weight >= 0 && s.Weight <= 1e6):
		return field("Weight", "is %g, must be in 0..1000000", s.Weight)
	case !(s.Slowstart <= 1):
		return field("Slowstart", "is %g, must be at most 1", s.Slowstart)
	case !(s.ReduceCost >= 0 && s.ReduceCost <= 1e6):
		return field("ReduceCost", "is %g, must be in 0..1000000", s.ReduceCost)
	case e.InputBytes < 0 || e.InputBytes > 1<<56:
		return field("Expect.InputBytes", "is %d, must be in 0..2^56", e.InputBytes)
	case e.ShuffleBytes < 0 || e.ShuffleBytes > 1<<56:
		return field("Expect.ShuffleBytes", "is %d, must be in 0..2^56", e.ShuffleBytes)
	case e.MapTime < 0:
		return field("Expect.MapTime", "is %v, must not be negative", e.MapTime)
	case e.ReduceTime < 0:
		return field("Expect.ReduceTime", "is %v, must not be negative", e.ReduceTime)
	}
	for name, r := range map[string]Demand{"MapDemand": s.MapDemand, "ReduceDemand": s.ReduceDemand, "DriverDemand": s.DriverDemand} {
		if r.VCores < 0 || r.VCores > 1<<20 || r.MemoryBytes < 0 || r.MemoryBytes > 1<<60 {
			return field(name, "is %d vcores and %d bytes, must be in 0..2^20 and 0..2^60", r.VCores, r.MemoryBytes)
		}
	}
	return nil
}
