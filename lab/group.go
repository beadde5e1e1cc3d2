package lab

import "strings"

// A Group is what experiments from one document have in common: what a reader must know before the first of them.
type Group struct {
	ID string // what the ids of its experiments begin with
	// Name is a heading, Source the document that published the experiments, Intro what it is about and how to read
	// references into it.
	Name, Source, Intro string
	Words               []Word
	Tables              []Table // what several experiments refer to
}

// A Word is a policy, a measure or an abbreviation of a group, and what it means.
type Word struct{ Name, Meaning string }

// Groups lists all groups in the order of a report.
var Groups = []Group{capacityGroup, deadlineGroup, hybridGroup, jobpackerGroup, marpGroup, nasGroup, slowdownGroup}

// groupOf finds the group of an experiment; nil for reports that are no experiments.
func groupOf(id string) *Group {
	name, _, _ := strings.Cut(id, "-")
	for i := range Groups {
		if Groups[i].ID == name {
			return &Groups[i]
		}
	}
	return nil
}
