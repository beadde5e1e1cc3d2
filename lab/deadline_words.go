package lab

import "fmt"

var deadlineGroup = Group{
	ID: "deadline", Name: "Deadlines",
	Source: `"Performance-Driven Task Co-Scheduling for MapReduce Environments", a paper.`,
	Intro: `The paper gives every job a goal, a time by which it should be done. While a job runs, the scheduler foresees its end from the mean length of the job's own finished tasks, ` +
		`computes how many slots it needs from now on, and hands out slots by that need. The number before the colon of a row is an item: a statement of the paper, numbered in the list ` +
		`"What to reproduce" of our specification of it (named deadline.md in the line below a page's title). Roman references such as V-C are sections of the paper, figure and equation numbers are the paper's. ` +
		`It prints no table of completion times; submission times and task lengths were chosen in our specification so that each job alone takes as long as the paper says.`,
	Words:  deadlineWords,
	Tables: []Table{goalTable()},
}

var deadlineWords = []Word{
	{"wave", "As many tasks as a job has slots, run at the same time."},
	{"slot", "Room for one task on a worker. Every worker here has one map slot and one reduce slot; \"slots of a job\" are its running maps."},
	{"goal", "The time by which a job should be done. It counts from the job's submission: J2 comes at 1,000 s with a goal of 3,000 s, so it should be done when the clock shows 4,000 s."},
	{"completion", "The time from the submission of a job to its end. \"Over its goal\" divides it by the goal: 1 is just in time, more is late."},
	{"min", "Gives each job as many slots as it seems to need to meet its goal and leaves the others idle."},
	{"max", "Hands out all slots, one after the other, each to the job that lacks most."},
	{"fair", "Hadoop's Fair Scheduler without weights: running jobs get equally many slots; it knows no goals."},
	{"weighted", "The Fair Scheduler with weights: 1 for J1, 1.4 for J2 and 122 for the pool of the two Joins, as in the paper."},
	{"tail reserve (min-tail, max-tail)", "A change of ours to min and max: the time for the reduces and for one longest map is taken off the time left until the goal. Not in the paper."},
	{"Simulator, WordCount, Join", "The applications: simulations of irregular length, the long ones last; counting words, with maps of about 90 s; and joining two tables, with many short maps."},
	{"J1, J2, J3, J4", "The four jobs of the table below."},
	{"alone", "The only job of the cluster, with all 60 slots."},
	{"burst", "A job of which no task has finished gets every free slot, because nothing is known of it yet."},
	{"peak slots", "The most slots that a job held at any time."},
	{"work conserving", "Leaves no slot idle while a task waits for one."},
	{"forecast", "The foreseen end of a job: the work left, at the mean length of its finished tasks, over its slots."},
	{"relative error", "Forecast minus real end, over the real end. Above 0 the forecast is pessimistic (the job ends earlier than foreseen), below 0 optimistic."},
	{"late job, new job, job with data", "A late job has passed its goal and is served first; a new one has no finished task and is served next; one with data has finished tasks and gets what it needs."},
	{"lateness", "How long after its goal a job ends."},
	{"slack", "The goal of a job minus the time it takes alone."},
	{"weight", "In a fair scheduler a job or pool of weight 2 gets twice the slots of one of weight 1."},
	{"model of the specification", "A small model of slots in which our specification tried its checks. Its numbers are not published ones."},
}

// goalSeconds are the goals of the four jobs, from their submission.
var goalSeconds = []float64{6000, 3000, 150, 150}

// goalTable is the four jobs, from what the runs use.
func goalTable() Table {
	t := Table{
		Title: "The four jobs of deadline-goals and deadline-shrink.",
		Head:  []string{"job", "application", "maps", "reduces", "submitted, s", "goal, s from submission", "goal as a time, s", "alone, published, s"},
	}
	alone := []string{"3,549", "1,264", "101", "101"}
	for i, j := range goals(1) {
		s := j.Spec
		t.Rows = append(t.Rows, []string{
			fmt.Sprint("J", i+1), s.Name, fmt.Sprint(s.Maps), fmt.Sprint(s.Reduces), number(s.Submit.Seconds()), number(goalSeconds[i]), number(s.Deadline.Seconds()), alone[i],
		})
	}
	return t
}

// spanOf writes a mean with its unit, and the smallest and largest of the runs.
func spanOf(unit string, low, avg, high float64) string {
	return fmt.Sprintf("%s %s (%s to %s)", number(avg), unit, number(low), number(high))
}
