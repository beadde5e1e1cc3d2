package drive

import (
	"fmt"

	"github.com/millrace/millrace/scheduler"
)

// NameOf returns the name and parameters of a rule, from which [RuleOf] makes it again. The name of nil is none.
func NameOf(r Rule) Named {
	switch r := r.(type) {
	case LATE:
		return named("late", r.params())
	case Lag:
		return named("lag", r.params())
	}
	return Named{Name: "none"}
}

func named(name string, params []scheduler.Param) Named {
	n := Named{Name: name, Params: map[string]string{}}
	for _, p := range params {
		n.Params[p.Name] = p.Default // the field's value
	}
	return n
}

// RuleOf makes a rule of second attempts by name: late, lag or none, which is nil. Missing parameters have their
// defaults.
func RuleOf(n Named) (Rule, error) {
	late, lag := DefaultLATE(), DefaultLag()
	switch n.Name {
	case "none":
		return nil, nil
	case "late":
		err := scheduler.SetParams(rulesName+n.Name, late.params(), n.Params)
		return checked(late, err)
	case "lag":
		err := scheduler.SetParams(rulesName+n.Name, lag.params(), n.Params)
		return checked(lag, err)
	}
	return nil, fmt.Errorf("%q is no rule of second attempts: there are late, lag and none", n.Name)
}

const rulesName = "of second attempts by "

func checked(r Rule, err error) (Rule, error) {
	if err == nil {
		err = r.Validate()
	}
	return r, err
}

func (l *LATE) params() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Duration(&l.After, "after", "ours", "age below which an attempt is not judged"),
		scheduler.Float(&l.Slower, "slower", "ours", "how many times the mean length of its finished siblings an attempt is expected to take"),
		scheduler.Float(&l.Share, "share", "Hadoop", "share of what runs that may be second attempts"),
	}
}

func (l *Lag) params() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Duration(&l.After, "after", "spec/capacity 3.7", "how long an attempt must have run"),
		scheduler.Float(&l.Behind, "behind", "spec/capacity 3.7", "by how much its progress must be below the average"),
		scheduler.Float(&l.Cap, "cap", "LATE", "share of all slots or containers that second attempts may hold"),
	}
}
