package jobs

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
)

// A SchedulingFlag is the flag of something that a job tells the scheduler of a cluster. Its value works with
// package flag and pflag.
type SchedulingFlag struct {
	Name, Usage string
	Value       pflag.Value
}

// setting is a flag value that is stored in a field of a job.
type setting struct {
	kind string
	get  func() string
	set  func(string) error
}

func (s setting) Set(text string) error { return s.set(text) }
func (s setting) Type() string          { return s.kind }
func (s setting) IsBoolFlag() bool      { return s.kind == "bool" }

// String is also called on a zero value, by package flag.
func (s setting) String() string {
	if s.get == nil {
		return ""
	}
	return s.get()
}

// into makes a setting of a field, which parse reads and say formats. A zero that was not set is formatted as "", so
// that the help shows no default of 0. One that was set is formatted as parse reads it, since the text is passed to
// a cluster.
func into[T comparable](field *T, kind string, parse func(string) (T, error), say func(T) string) setting {
	var zero T
	given := false
	return setting{kind, func() string {
		if *field == zero && !given {
			return ""
		}
		return say(*field)
	}, func(text string) (err error) {
		given = true
		*field, err = parse(text)
		return err
	}}
}

func text(field *string) setting {
	same := func(s string) string { return s }
	return into(field, "string", func(s string) (string, error) { return s, nil }, same)
}

func byteCount(field *int64) setting { return into(field, "size", human.ParseBytes, human.FormatBytes) }

func span(field *time.Duration) setting {
	return into(field, "duration", func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q is not a duration such as 90s or 5m", s)
		}
		return d, nil
	}, time.Duration.String)
}

func number(field *float64, high float64) setting {
	return into(field, "float", func(s string) (float64, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 0 && f <= high) {
			return 0, fmt.Errorf("%q is not a number from 0 to %g", s, high)
		}
		return f, nil
	}, func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) })
}

// slowstart is a number from 0 to 1. In the job 0 means the cluster's, and a negative number means at once.
func slowstart(field *float64) setting {
	s := number(field, 1)
	return setting{s.kind, func() string {
		if *field < 0 {
			return "0"
		}
		return s.get()
	}, func(text string) error {
		err := s.set(text)
		if err == nil && *field == 0 {
			*field = -1
		}
		return err
	}}
}

func whole(field *int) setting {
	return into(field, "int", func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1<<20 {
			return 0, fmt.Errorf("%q is not a whole number from 0 to 2^20", s)
		}
		return n, nil
	}, strconv.Itoa)
}

func truth(field *bool) setting {
	return into(field, "bool", strconv.ParseBool, strconv.FormatBool)
}

func priority(field *mapreduce.Priority) setting {
	return setting{"string", func() string { return field.String() }, func(text string) (err error) {
		*field, err = mapreduce.ParsePriority(cmp.Or(text, "normal"))
		return err
	}}
}

// SchedulingFlags returns the flags for everything that a job can tell the scheduler of a cluster, bound to its
// fields.
func SchedulingFlags(j *mapreduce.Job) []SchedulingFlag {
	s := &j.Scheduling
	out := []SchedulingFlag{
		{"name", "what the job is called; jobs that recur share a name", text(&j.Name)},
		{"user", "user to run as on a cluster", text(&j.User)},
		{"queue", "queue of the cluster", text(&j.Queue)},
		{"pool", "pool of the cluster's fair scheduler", text(&j.Pool)},
		{"priority", "very-low, low, normal, high or very-high", priority(&j.Priority)},
		{"deadline", "completion-time goal, counted from submission", span(&j.Deadline)},
		{"weight", "share on a cluster beside other jobs (default 1)", number(&s.Weight, 1e6)},
		{"slowstart", "fraction of the maps that must be done before reduces start on a cluster (default: as the cluster has it)", slowstart(&s.Slowstart)},
		{"reduce-cost", "what a reduce costs, a map being 1; for deadlines (default 1)", number(&s.ReduceCost, 1e6)},
		{"recurring", "jobs of this name and user come again and again: trust what the cluster knows of those before", truth(&s.Recurring)},
	}
	for _, r := range []struct {
		of   string
		room *mapreduce.Demand
	}{{"map", &s.MapDemand}, {"reduce", &s.ReduceDemand}, {"driver", &s.DriverDemand}} {
		out = append(out,
			SchedulingFlag{r.of + "-vcores", "processor shares of a " + r.of + " on a cluster whose machines count them; containers and slots do not (default: as usual there)", whole(&r.room.VCores)},
			SchedulingFlag{r.of + "-memory", "memory of a " + r.of + " on a cluster whose machines count it; containers and slots do not (default: as usual there)", byteCount(&r.room.MemoryBytes)})
	}
	return append(out,
		SchedulingFlag{"expect-input", "bytes that the job will read, where the cluster cannot see it", byteCount(&s.Expect.InputBytes)},
		SchedulingFlag{"expect-shuffle", "bytes that its maps will make", byteCount(&s.Expect.ShuffleBytes)},
		SchedulingFlag{"expect-map-time", "how long one map will take", span(&s.Expect.MapTime)},
		SchedulingFlag{"expect-reduce-time", "how long one reduce will take", span(&s.Expect.ReduceTime)})
}
