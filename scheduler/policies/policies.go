package policies

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/scheduler/capacity"
	"github.com/millrace/millrace/scheduler/deadline"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/jobpacker"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/scheduler/sizebased"
)

// All has every policy by name.
var All = map[string]*scheduler.Info{
	"cbt":            &admission.CBTInfo,
	"cbtwat":         &admission.CBTwATInfo,
	"cbtws":          &admission.CBTwSInfo,
	"delay":          &fair.DelayInfo,
	"fair":           &fair.Info,
	"fifo":           &fifo.Info,
	"marp":           &admission.MARPInfo,
	"nas":            &nas.Info,
	"nas-mts":        &nas.MTSInfo,
	"nas-mts-ca":     &nas.MTSCAInfo,
	"nas-no-both":    &nas.NoBothInfo,
	"nas-no-mct":     &nas.NoMCTInfo,
	"nas-no-tt":      &nas.NoTTInfo,
	"shufflewatcher": &nas.WatcherInfo,
	"sw-delay":       &nas.SWDelayInfo,
	"unlimited":      &admission.UnlimitedInfo,

	"capacity":      &capacity.Info,
	"capacity-init": &capacity.InitInfo,

	"deadline-max": &deadline.MaxInfo,
	"deadline-min": &deadline.MinInfo,

	"corral":              &jobpacker.CorralInfo,
	"hybrid":              &hybrid.Info,
	"jobpacker":           &jobpacker.Info,
	"jobpacker-adhoc-agg": &jobpacker.AdhocAggInfo,

	"comp": &sizebased.COMPInfo,
	"fbq":  &sizebased.FBQInfo,
	"sita": &sizebased.SITAInfo,
	"srpt": &sizebased.SRPTInfo,
	"tags": &sizebased.TAGSInfo,

	"planned-racks": &plannedRacks,
	"rack-aware":    &rackAware,
	"two-plus-one":  &twoPlusOne,
}

// Register adds a user's own policy to All: call it before cli.Main. It panics if the name is taken or the description
// is not valid, since that is a mistake in the program.
func Register(info *scheduler.Info) {
	if err := register(info); err != nil {
		panic("policies.Register: " + err.Error())
	}
}

func register(info *scheduler.Info) error {
	if info == nil || info.Setup == nil {
		return errors.New("a policy needs an Info with Name, Seam, Summary and Setup")
	}
	if err := CheckName(info.Name); err != nil {
		return err
	}
	switch {
	case !slices.Contains(seams, info.Seam):
		return fmt.Errorf("policy %s has the seam %q: want one of %v", info.Name, info.Seam, seams)
	case info.Summary == "":
		return fmt.Errorf("policy %s has no Summary: say in a line what it does", info.Name)
	}
	All[info.Name] = info
	own = append(own, info)
	return nil
}

// CheckName returns an error unless a new policy can have the name.
func CheckName(name string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`).MatchString(name) {
		return fmt.Errorf("the name %.60q: want at most 40 small letters, digits and hyphens, a letter first", name)
	}
	if All[name] != nil || name == scheduler.ScriptName {
		return fmt.Errorf("there is a policy %s already: choose another name", name)
	}
	return nil
}

var own []*scheduler.Info

// Own returns the policies added by Register.
func Own() []*scheduler.Info { return own }

var seams = []scheduler.Seam{scheduler.Assignment, scheduler.Admitting, scheduler.Placing}

// List returns every policy, by seam and then by name.
func List() []*scheduler.Info {
	return slices.SortedFunc(maps.Values(All), func(a, b *scheduler.Info) int {
		if c := slices.Index(seams, a.Seam) - slices.Index(seams, b.Seam); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Names returns the names of the policies of one seam, sorted.
func Names(seam scheduler.Seam) []string {
	var names []string
	for _, i := range List() {
		if i.Seam == seam {
			names = append(names, i.Name)
		}
	}
	return names
}

// Policy makes an assignment policy.
func Policy(name string, params map[string]string) (scheduler.Policy, error) {
	return Make[scheduler.Policy](scheduler.Assignment, name, params)
}

// UsualParams adds to the parameters of a policy what sim run and a cluster use for those not given.
func UsualParams(name string, given map[string]string) map[string]string {
	if info, ok := All[name]; ok {
		return info.UsualParams(given)
	}
	return given
}

// LiveParams adds to the parameters of a policy what a cluster uses for those not given.
func LiveParams(name string, given map[string]string) map[string]string {
	if info := All[name]; info != nil {
		return info.LiveParams(given)
	}
	return given
}

// Admission makes an admission policy.
func Admission(name string, params map[string]string) (scheduler.Admission, error) {
	return Make[scheduler.Admission](scheduler.Admitting, name, params)
}

// Placement returns the factory of a block placement policy.
func Placement(name string, params map[string]string) (placement.Factory, error) {
	return Make[placement.Factory](scheduler.Placing, name, params)
}

// Check returns an error, which lists the known names, unless the name is that of a policy of the seam.
func Check(seam scheduler.Seam, name string) error {
	if info := All[name]; info == nil || info.Seam != seam {
		return suggest.Unknown(fmt.Sprintf("%s policy", seam), name, Names(seam))
	}
	return nil
}

// Make makes a policy of any seam. An unknown name is an error that lists the
// known ones of that seam.
func Make[T any](seam scheduler.Seam, name string, params map[string]string) (T, error) {
	var none T
	if err := Check(seam, name); err != nil {
		return none, err
	}
	info := All[name]
	made, err := info.Make(params)
	if err != nil {
		return none, err
	}
	p, ok := made.(T)
	if !ok {
		return none, fmt.Errorf("policy %s is a %T, which is no %s policy", name, made, seam)
	}
	return p, nil
}
