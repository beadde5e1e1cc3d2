package wire

import "math"

// Limits bound what a user may ask of a cluster, beside files and bytes. 0 means that the limits for all users
// apply; NoLimit means no bound.
type Limits struct {
	Running     int64 `json:"running,omitempty"`     // jobs at once; more wait
	Waiting     int64 `json:"waiting,omitempty"`     // jobs without a plan; more are refused
	Containers  int64 `json:"containers,omitempty"`  // at once, of all jobs; tasks beyond wait
	Submissions int64 `json:"submissions,omitempty"` // a minute; more are refused
	History     int64 `json:"history,omitempty"`     // bytes of ended jobs; the oldest beyond that are forgotten
}

// NoLimit is a limit without a bound.
const NoLimit = -1

// AllUsers stands for every user without limits of their own.
const AllUsers = "*"

// byName finds a limit by its name.
func (l *Limits) byName(name string) *int64 {
	return map[string]*int64{
		"running": &l.Running, "waiting": &l.Waiting, "containers": &l.Containers, "submissions": &l.Submissions, "history": &l.History,
	}[name]
}

// Change sets limits by name. It changes nothing if one of them is invalid.
func (l *Limits) Change(changes map[string]int64) error {
	next := *l
	for name, n := range changes {
		to := next.byName(name)
		if to == nil {
			return Errorf(Invalid, "there is no limit %q: there are running, waiting, containers, submissions and history", name)
		}
		if n < NoLimit || n > math.MaxInt32 && name != "history" {
			return Errorf(Invalid, "%s %d: must be a number above zero, none or default", name, n)
		}
		*to = n
	}
	if next.Containers == 1 {
		return Errorf(Invalid, "1 container: a job needs one for its driver and one for a task, so at least 2")
	}
	*l = next
	return nil
}

// Or returns l with its zeros replaced by the limits in all. In the result 0 means no bound.
func (l Limits) Or(all Limits) Limits {
	for _, name := range []string{"running", "waiting", "containers", "submissions", "history"} {
		n := l.byName(name)
		if *n == 0 {
			*n = *all.byName(name)
		}
		*n = max(*n, 0)
	}
	return l
}

// LimitRequest changes limits of a user, by name.
type LimitRequest struct {
	User    string           `json:"user"` // or AllUsers
	Changes map[string]int64 `json:"changes"`
}

// UserStatus is what a user has and may have.
type UserStatus struct {
	User       string `json:"user"`
	Running    int    `json:"running"` // jobs with a plan
	Waiting    int    `json:"waiting"` // jobs without a plan
	Containers int    `json:"containers"`
	Recent     int    `json:"recent"`  // submissions of the last minute
	History    int64  `json:"history"` // bytes
	Limits     Limits `json:"limits"`  // those in effect; 0 means no bound
	Usage      Usage  `json:"usage"`   // files and bytes, and quotas
}
