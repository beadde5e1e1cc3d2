package wire

// PlanRequest announces jobs that will come, or takes announcements back, or asks for a new plan; a zero one only asks which
// plans there are.
type PlanRequest struct {
	Jobs  []JobSpec `json:"jobs,omitempty"`
	Drop  string    `json:"drop,omitempty"` // the name of the caller's announced jobs that will not come
	Again bool      `json:"again,omitempty"`
}

// Plans are the jobs that were announced and have not ended.
type Plans struct {
	Planner bool   `json:"planner"` // the policy in place plans
	Plans   []Plan `json:"plans"`
}

// A Plan says in which racks an announced job will run.
type Plan struct {
	Name        string   `json:"name"`
	User        string   `json:"user"`
	Job         JobID    `json:"job,omitempty"` // once it has come
	Announced   int64    `json:"announced_ms"`
	MapRacks    []string `json:"map_racks,omitempty"`
	ReduceRacks []string `json:"reduce_racks,omitempty"`
	Why         string   `json:"why,omitempty"`    // there is no plan
	Reason      string   `json:"reason,omitempty"` // it has so many racks
}
