package scheduler

// A user's limit bounds the containers that the user's jobs hold together. It is part of what fits, like room on a
// node, so that every policy keeps it.

// maxLimit is far above what any cluster has.
const maxLimit = 1 << 30

// setLimit sets how many containers a user may hold; 0 means any number.
func (s *State) setLimit(user string, containers int32) {
	if containers <= 0 {
		delete(s.limits, user)
	} else {
		s.limits[user] = containers
	}
	if g := s.groups.byName[groupKey{kind: UserGroup, name: user}]; g != nil {
		g.limit = max(containers, 0)
	}
}

// UserLimit returns how many containers a user may hold; 0 means any number.
func (v *View) UserLimit(user string) int32 { return v.s.limits[user] }

// AtLimit reports whether the job's user may hold no container for one more task of kind k. A driver, and a reduce
// while maps of the user wait, leave the last container to a task that ends by itself. If the limit was lowered, or map
// output was lost, that task may exceed the limit: else no job of the user would ever end.
func (j *Job) AtLimit(k Kind) bool {
	g := j.user
	if g.limit == 0 {
		return false
	}
	u, take := &g.use, j.demand[k].Slots
	within := u.Containers()+take <= g.limit
	leaves := u.Slots[Driver]+u.Slots[Reduce]+take < g.limit
	switch k {
	case Driver:
		return !within || u.Slots[Driver]+take >= g.limit
	case Reduce:
		return u.Work() > 0 && (!within || g.waiting[Map] > 0 && !leaves)
	}
	return !within && u.Tasks[Map] > 0
}

// explainLimit returns that a job waits because its user is at the limit, and whether that is so.
func (j *Job) explainLimit() (Reason, bool) {
	stuck := j.phase == Admitted && j.AtLimit(Driver)
	if j.phase == Ready {
		maps, reduces := j.isRunnable[Map], j.isRunnable[Reduce]
		stuck = (maps || reduces) && (!maps || j.AtLimit(Map)) && (!reduces || j.AtLimit(Reduce))
	}
	return Reason{
		Code: AtLimit, Say: "{job} waits: {group} holds {a} of at most {b} containers (millrace user ls)", Job: j.id,
		Group: j.user, A: int64(j.user.use.Containers()), B: int64(j.user.limit),
	}, stuck
}
