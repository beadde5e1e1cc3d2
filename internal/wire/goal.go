package wire

// Allowed returns how many milliseconds a job was given, or 0 without a goal.
func (s *JobStatus) Allowed() int64 { return max(0, s.Deadline-s.Submitted) }

// GoalMet reports whether a job met its goal. It is nil without a goal, and before the end.
func (s *JobStatus) GoalMet() *bool {
	if s.Deadline == 0 || s.Ended == 0 {
		return nil
	}
	met := s.State == Succeeded && s.Ended <= s.Deadline
	return &met
}
