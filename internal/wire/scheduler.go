package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Choice is a policy by name, with its parameters.
type Choice struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params,omitempty"`
}

// String returns the choice as on a command line, except for texts of several lines.
func (c Choice) String() string {
	var out strings.Builder
	out.WriteString(c.Name)
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		v := c.Params[k]
		if n := strings.Count(strings.TrimSpace(v), "\n"); n > 0 {
			v = fmt.Sprintf("(%d lines)", n+1)
		} else if len(v) > 300 {
			v = aboutClassifier(v)
		}
		out.WriteString(" " + k + "=" + v)
	}
	return out.String()
}

// aboutClassifier returns what a trained classifier says of itself: when it was trained, and with how many jobs.
// Older ones say nothing.
func aboutClassifier(text string) string {
	var c struct {
		Trained string
		Jobs    int
	}
	said := fmt.Sprintf("a classifier of %d kB", (len(text)+999)/1000)
	if json.Unmarshal([]byte(text), &c) == nil && c.Trained != "" {
		said += fmt.Sprintf(", trained %s with %d jobs", c.Trained, c.Jobs)
	}
	return "(" + said + ")"
}

// SchedulerStatus is what a cluster's policies have done since its master started.
type SchedulerStatus struct {
	Policies
	Launched  int64 `json:"launched"`            // attempts, including drivers
	Seconds   int64 `json:"seconds"`             // second attempts among them
	Stopped   int64 `json:"stopped"`             // attempts that the policy or a broken deadlock ended
	Forgotten int64 `json:"forgotten,omitempty"` // results that the policy wanted to have made again
	Admitted  int64 `json:"admitted"`            // jobs, each stage of a chain
	Rejected  int64 `json:"rejected"`
	Broken    int64 `json:"broken"` // rounds in which a policy broke a rule
	// CPUMillis is the processor time that the master has used; 0: unknown.
	CPUMillis int64 `json:"cpu_ms,omitempty"`
	// LastBroken is the last broken rule, and BrokenAgo how many milliseconds ago that was.
	LastBroken string `json:"last_broken,omitempty"`
	BrokenAgo  int64  `json:"broken_ago_ms,omitempty"`
}

// A Figure is a number that a policy uses: a limit that it tunes, what a job lacks.
type Figure struct {
	Name  string  `json:"name"`
	Job   JobID   `json:"job,omitempty"` // empty: for the cluster
	Value float64 `json:"value"`
}

// Policies are the policies in use.
type Policies struct {
	Policy    Choice `json:"policy"`
	Admission Choice `json:"admission"`
	// Second is the rule of second attempts: late, lag or none. It is set in what a job was submitted under.
	Second *Choice `json:"second,omitempty"`
	// Figures are numbers that the policies use.
	Figures []Figure `json:"figures,omitempty"`
	// Notes say what the cluster lacks for the policies, and what they do meanwhile.
	Notes []string `json:"notes,omitempty"`
}
