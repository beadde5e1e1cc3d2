package play

import "slices"

// A Recording is all that a page needs to show a run. Lists of one kind of thing are columns, which pack well. Times
// are milliseconds; starts and decisions count from the one before.
type Recording struct {
	Name      string `json:"name"` // of the policy, as users call this run
	Admission string `json:"admission,omitempty"`
	End       int64  `json:"end"`
	// Left is how many decisions were not kept; of the others one in Every was.
	Left  int `json:"left,omitempty"`
	Every int `json:"every,omitempty"`

	Racks     []string  `json:"racks"`
	Nodes     []Node    `json:"nodes"`
	Jobs      []Job     `json:"jobs"`
	Attempts  Attempts  `json:"attempts"`
	Decisions Decisions `json:"decisions"`
	Net       Net       `json:"net"`
	Marks     []Mark    `json:"marks"`
	// Texts are the sentences that decisions say, each once.
	Texts []string `json:"texts"`
	// Others are the jobs that waited at a decision, as pairs of job and text; each list once. A list has at most
	// Listed pairs.
	Others [][]int32 `json:"others"`
	Listed int       `json:"listed"`
	// Figures are what the policies worked with, as it changed, such as a limit that is tuned.
	Figures []Figure `json:"figures,omitempty"`
	// Report is what the run's own report says, so that a page can be checked against it.
	Report map[string]float64 `json:"report,omitempty"`
}

// A Node is a machine and its room.
type Node struct {
	Name   string `json:"name"`
	Rack   int32  `json:"rack"`
	Places int32  `json:"places"`
	Class  string `json:"class,omitempty"`
}

// A Job is one of the workload. A time of -1 has not come. Took and Alone have nine digits, so that means equal those
// of the report: for a job of a few milliseconds whole ones would be far off.
type Job struct {
	Name    string `json:"name"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	Pool    string `json:"pool,omitempty"`
	Maps    int32  `json:"maps"`
	Reduces int32  `json:"reduces"`
	Submit  int64  `json:"submit"`
	Admit   int64  `json:"admit"`
	End     int64  `json:"end"`
	// Took is from its submission to its end.
	Took   float64 `json:"took"`
	Failed bool    `json:"failed,omitempty"`
	// Deadline is when it is to be done; 0 if it has none.
	Deadline int64 `json:"deadline,omitempty"`
	// Alone is what it takes by itself, for its slowdown; 0 if unknown.
	Alone float64 `json:"alone,omitempty"`
}

// Attempts are tries of tasks, in order of their start.
type Attempts struct {
	Job   []int32 `json:"job"`
	Kind  []uint8 `json:"kind"` // 0 map, 1 reduce, 2 driver
	Task  []int32 `json:"task"`
	Node  []int32 `json:"node"`
	Place []int32 `json:"place"` // of the node, from 0
	Start []int64 `json:"start"` // since the start of the one before
	Took  []int64 `json:"took"`
	Near  []uint8 `json:"near"` // 0 on the node of its input, 1 in its rack, 2 elsewhere, 3 no matter
	How   []uint8 `json:"how"`  // one of the constants below
	Away  []int64 `json:"away"` // bytes that it read from other racks, once it is done: input of a map, map output of a reduce
}

// reserve makes space for n attempts.
func (a *Attempts) reserve(n int) {
	for _, c := range []*[]int32{&a.Job, &a.Task, &a.Node, &a.Place} {
		*c = slices.Grow(*c, n)
	}
	for _, c := range []*[]int64{&a.Start, &a.Took, &a.Away} {
		*c = slices.Grow(*c, n)
	}
	for _, c := range []*[]uint8{&a.Kind, &a.Near, &a.How} {
		*c = slices.Grow(*c, n)
	}
}

// How an attempt ended, and whether it was a second one.
const (
	Running uint8 = iota // to the end of the recording
	Done
	Failed
	Stopped
	second uint8 = 8 // added for a second attempt
)

// Decisions are what the policies decided, in order.
type Decisions struct {
	At      []int64 `json:"at"`      // since the one before
	Do      []uint8 `json:"do"`      // drive.Do
	Job     []int32 `json:"job"`     // place in Jobs, -1 for none
	Attempt []int32 `json:"attempt"` // the one that was started or stopped, -1 for none
	Text    []int32 `json:"text"`
	Others  []int32 `json:"others"` // -1: nobody was asked
}

// Net is how full the links of racks were, where that changed. Shares are thousandths.
type Net struct {
	At        []int64 `json:"at"` // since the one before
	Rack      []int32 `json:"rack"`
	Up        []int32 `json:"up"`
	Down      []int32 `json:"down"`
	Congested []uint8 `json:"congested"`
}

// A Mark is a moment to jump to.
type Mark struct {
	At   int64  `json:"at"`
	What string `json:"what"` // stop, kill, race, congestion, node, reject
	Text string `json:"text"`
}

// A Figure is a number that a policy showed from a time on.
type Figure struct {
	At    int64   `json:"at"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}
