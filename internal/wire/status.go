package wire

import "slices"

// NetStatus describes the network to users.
type NetStatus struct {
	Racks     []NetRack `json:"racks"`
	Nodes     []NetNode `json:"nodes"`
	CrossRack int64     `json:"cross_rack_bytes"`
	InRack    int64     `json:"in_rack_bytes"`
	// Episodes counts how often a rack became congested, that is, its link was used beyond Threshold.
	Episodes        int     `json:"episodes"`
	CongestedMillis int64   `json:"congested_ms"` // of all racks, added up
	Threshold       float64 `json:"threshold"`
	// CircuitMillis is how often an optical switch between the racks is matched again, or 0.
	// RematchMillis is when that happens next.
	CircuitMillis int64 `json:"circuit_interval_ms,omitempty"`
	RematchMillis int64 `json:"circuit_next_ms,omitempty"`
	// Also of the switch: a circuit's bytes per second, how long racks have none while it is matched, and above how
	// many bytes data gets one.
	CircuitRate      float64 `json:"circuit_rate,omitempty"`
	DarkMillis       int64   `json:"circuit_dark_ms,omitempty"`
	CircuitThreshold int64   `json:"circuit_threshold,omitempty"`
}

// Sort sorts racks and nodes, which come in the order in which they joined, by name. What racks sent to each other
// is reordered with them.
func (s *NetStatus) Sort(compare func(a, b string) int) {
	order := make([]int, len(s.Racks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(s.Racks[a].Rack, s.Racks[b].Rack) })
	racks := make([]NetRack, len(order))
	for i, from := range order {
		racks[i] = s.Racks[from]
		racks[i].To = make([]int64, len(order))
		for k, to := range order {
			if to < len(s.Racks[from].To) {
				racks[i].To[k] = s.Racks[from].To[to]
			}
		}
	}
	s.Racks = racks
	slices.SortStableFunc(s.Nodes, func(a, b NetNode) int { return compare(string(a.Node), string(b.Node)) })
}

// A NetLink is one link: how much of it is used, 1 being all, and what it carried.
type NetLink struct {
	UpShare   float64 `json:"up"`
	DownShare float64 `json:"down"`
	UpBytes   int64   `json:"up_bytes"`
	DownBytes int64   `json:"down_bytes"`
}

// A NetRack is a rack's link to the core. Rates are in bytes per second. 0 means unknown, and then there are no
// shares.
type NetRack struct {
	Rack string `json:"rack"`
	NetLink
	Uplink          float64 `json:"uplink,omitempty"`
	Downlink        float64 `json:"downlink,omitempty"`
	Congested       bool    `json:"congested,omitempty"`
	Circuit         string  `json:"circuit,omitempty"` // the rack of its circuit when its workers last reported
	Episodes        int     `json:"episodes"`
	CongestedMillis int64   `json:"congested_ms"`
	// To is what was sent to each rack, in the order of the racks.
	To []int64 `json:"to"`
}

// A NetNode is a node's network card.
type NetNode struct {
	Node NodeName `json:"node"`
	Rack string   `json:"rack"`
	NetLink
	NIC  float64          `json:"nic,omitempty"`
	Sent map[string]int64 `json:"sent"` // to other nodes, by kind of traffic
	Idle float64          `json:"idle"` // of its processors, percent; negative if unknown
	// CPUMillis is as in [Report].
	CPUMillis int64 `json:"cpu_ms,omitempty"`
	Up        bool  `json:"alive"`
	// RTT is how long the master's last probe took, in microseconds; 0 if there was none.
	RTT int64 `json:"rtt_us,omitempty"`
}

// QueueStatus describes a queue to users: its remembered jobs, and who may use it.
type QueueStatus struct {
	Queue     string   `json:"queue"`
	Waiting   int      `json:"waiting"`
	Running   int      `json:"running"`
	Succeeded int      `json:"succeeded"`
	Failed    int      `json:"failed"`  // or killed
	Tasks     int      `json:"tasks"`   // attempts that run
	Pending   int      `json:"pending"` // tasks that are not done
	Submit    []string `json:"submit,omitempty"`
	Admin     []string `json:"admin,omitempty"`
}

// Load is how busy the cluster was lately. Times are milliseconds since the cluster's birth.
type Load struct {
	Now     int64        `json:"now_ms"`
	Every   int64        `json:"every_ms"` // between two samples
	Samples []LoadSample `json:"samples"`  // the oldest first
}

// A LoadSample is one observation of the cluster.
type LoadSample struct {
	At     int64       `json:"at_ms"`
	Nodes  int         `json:"nodes"` // that are known
	Up     int         `json:"up"`
	Room   int         `json:"room"` // attempts that fit on the nodes that are up
	Used   int         `json:"used"`
	Queues []LoadQueue `json:"queues,omitempty"` // those with jobs; one without a name stands for all others
}

// A LoadQueue is what one queue had to do.
type LoadQueue struct {
	Queue   string `json:"queue"`
	Tasks   int    `json:"tasks"`   // attempts that ran
	Pending int    `json:"pending"` // tasks that were not done
	Jobs    int    `json:"jobs"`
	Waiting int    `json:"waiting"` // jobs that were not admitted
}
