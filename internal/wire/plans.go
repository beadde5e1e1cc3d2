package wire

// PlanRequest announces jobs, withdraws announcements, or asks for a new plan. The zero request only asks for the
// plans.
type PlanRequest struct {
	Jobs  []JobSpec `json:"jobs,omitempty"`
	Drop  string    `json:"drop,omitempty"` // the name of the caller's announced jobs that will not come
	Again bool      `json:"again,omitempty"`
}

// Plans are the announced jobs that have not ended.
type Plans struct {
	Planner bool   `json:"planner"` // the policy in use plans
	Plans   []Plan `json:"plans"`
}

// A Plan says in which racks an announced job will run.
type Plan struct {
	Name        string   `json:"name"`
	User        string   `json:"user"`
	Job         JobID    `json:"job,omitempty"` // once it has been submitted
	Announced   int64    `json:"announced_ms"`
	MapRacks    []string `json:"map_racks,omitempty"`
	ReduceRacks []string `json:"reduce_racks,omitempty"`
	Why         string   `json:"why,omitempty"`    // why there is no plan
	Reason      string   `json:"reason,omitempty"` // why it has that many racks
}
