package wire

// ForecastRequest asks what is known of jobs of a name and a user; without a user, of the caller's.
type ForecastRequest struct {
	Name string `json:"name"`
	User string `json:"user,omitempty"`
}

// Forecast is what the last jobs of a name and user were like: what a job of that name that says that it recurs is taken to be.
type Forecast struct {
	Name   string          `json:"name"`
	User   string          `json:"user"`
	Stages []StageForecast `json:"stages"` // one for jobs that are no chains
}

// StageForecast is the same of one stage.
type StageForecast struct {
	Name         string `json:"name"` // with the number of the stage, for chains
	Jobs         int    `json:"jobs"` // it is made of
	Maps         Spread `json:"maps"`
	Reduces      Spread `json:"reduces"`
	Input        Spread `json:"input"`   // bytes
	Shuffle      Spread `json:"shuffle"` // bytes that maps made
	MapMillis    Spread `json:"map_ms"`
	ReduceMillis Spread `json:"reduce_ms"` // without what reduces waited for the last map
}

// A Spread is a mean and the standard deviation, which is 0 for one job.
type Spread struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
}
