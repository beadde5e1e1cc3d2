package wire

// ForecastRequest asks what is known of jobs of a name and a user; without a user, of the caller's jobs.
type ForecastRequest struct {
	Name string `json:"name"`
	User string `json:"user,omitempty"`
}

// Forecast describes the last jobs of a name and user. A new job of that name that says that it recurs is expected
// to be the same.
type Forecast struct {
	Name   string          `json:"name"`
	User   string          `json:"user"`
	Stages []StageForecast `json:"stages"` // only one for a job that is not a chain
}

// StageForecast describes one stage of these jobs.
type StageForecast struct {
	Name         string `json:"name"` // with the number of the stage, for chains
	Jobs         int    `json:"jobs"` // how many were used
	Maps         Spread `json:"maps"`
	Reduces      Spread `json:"reduces"`
	Input        Spread `json:"input"`   // bytes
	Shuffle      Spread `json:"shuffle"` // bytes of map output
	MapMillis    Spread `json:"map_ms"`
	ReduceMillis Spread `json:"reduce_ms"` // without the wait for the last map
}

// A Spread is a mean and the standard deviation, which is 0 for one job.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}
