package scheduler

// PerJob is what a policy knows of each job that it has met.
type PerJob[T any] struct {
	bySlot []*T
}

// Of returns what is known of a job, or nil.
func (p *PerJob[T]) Of(j *Job) *T {
	if j.Slot() < len(p.bySlot) {
		return p.bySlot[j.Slot()]
	}
	return nil
}

// Arrives reports whether an event makes a job ready that is not in the table.
func (p *PerJob[T]) Arrives(e Event, j *Job) bool {
	return (e.Kind == EvJobAdmitted || e.Kind == EvJobReady) && j.Phase() == Ready && p.Of(j) == nil
}

// Set keeps v for a job. nil removes the job, whose slot another may get.
func (p *PerJob[T]) Set(j *Job, v *T) {
	for len(p.bySlot) <= j.Slot() {
		p.bySlot = append(p.bySlot, nil)
	}
	p.bySlot[j.Slot()] = v
}
