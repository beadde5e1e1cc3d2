package sim

import "github.com/millrace/millrace/scheduler"

// roster is what runs on one node: so few that a list is quicker than a map.
type roster []Attempt

func (r roster) find(t scheduler.TaskID) (Attempt, bool) {
	for i := range r {
		if r[i].Task == t {
			return r[i], true
		}
	}
	return Attempt{}, false
}

// remove removes the attempt of a task. It does not keep the order of the others.
func (r *roster) remove(t scheduler.TaskID) {
	list := *r
	for i := range list {
		if list[i].Task == t {
			list[i] = list[len(list)-1]
			*r = list[:len(list)-1]
			return
		}
	}
}

// removeTry removes this very attempt; it returns false if it is not there.
func (r *roster) removeTry(a *Attempt) bool {
	list := *r
	for i := range list {
		if list[i].Task == a.Task {
			if list[i].Try != a.Try {
				return false
			}
			list[i] = list[len(list)-1]
			*r = list[:len(list)-1]
			return true
		}
	}
	return false
}
