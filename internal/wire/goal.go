package wire

// Allowed is how many milliseconds a job was given, 0 without a goal.
func (s *JobStatus) Allowed() int64 { return max(0, s.Deadline-s.Submitted) }

// GoalMet is nil for a job without a goal, and for one that has not ended.
func (s *JobStatus) GoalMet() *bool {
	if s.Deadline == 0 || s.Ended == 0 {
		return nil
	}
	met := s.State == Succeeded && s.Ended <= s.Deadline
	return &met
}
