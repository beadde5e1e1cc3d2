package lab

import "fmt"

var capacityGroup = Group{
	ID: "capacity", Name: "Capacity scheduler",
	Source: `"Simulation and Performance Evaluation of Hadoop Capacity Scheduler", M.Sc. thesis of J. Chauhan, University of Saskatchewan, November 2013.`,
	Intro: `The thesis puts the Capacity Scheduler of Hadoop into a simulator of MapReduce (MRPERF) and measures what its settings do: in 32 simulated experiments on 30 nodes,
and, one setting at a time, on a small real cluster. Organisations share a cluster by queues; each queue is guaranteed a part of the slots, and each user of a queue is limited. ` +
		`The number before the colon of a row is an item: a statement of the thesis, numbered in the list "What to reproduce" of our specification of it (named capacity.md in the line below a page's title). ` +
		`"Experiment 2" means a row of the table of experiments below, "setting b" a row of the table of settings, "type 5" a row of the table of job types.`,
	Words:  capacityWords,
	Tables: []Table{capTypeTable(), capSettingTable(), capExperimentTable()},
}

var capacityWords = []Word{
	{"slot", "Room for one task on a node; map slots run maps, reduce slots run reduces."},
	{"queue", "A line of jobs with a guaranteed percentage of all slots, its capacity. What it leaves free, other queues may use."},
	{"side", "Half of the workload: each of the two sides submits the same fifty jobs in the same order, to queues of its own."},
	{"Q1, Q2, q1, q2", "The queues of the first and of the second side. In the separate pattern the long jobs of the sides are in long1 and long2, the small ones in small1 and small2."},
	{"cap", "Maximum capacity: the percentage of the slots that a queue may never exceed. In these experiments it equals the queue's capacity, or there is none."},
	{"MULP, user limit", "Minimum user limit percent: the least part of the queue that a user is held to when others compete. At 100 the first user may take the whole queue, so jobs run first come, first served; at 25 up to four users share it equally."},
	{"user limit factor (ULF)", "How many times the queue's capacity a single user may hold while other slots are free."},
	{"maximum-system-jobs (MSJ)", "How many jobs of the whole cluster may be under way at once; each queue gets its part of that number."},
	{"active tasks", "Maps and reduces of all jobs under way in a queue, or of one user. A job starts only if its tasks still fit below the limit."},
	{"elapsed, waiting and execution time", "Elapsed time runs from the submission of a job to its end. Until its first map starts it waits; the rest is its execution time."},
	{"response ratio", "Elapsed time over execution time: 1 means that the job never waited, 6 that it waited five times as long as it ran. Given as the mean over the jobs of a type."},
	{"makespan", "The time at which the last job of a queue, or of the whole workload, ends."},
	{"node-local, rack-local", "A map is node-local if its node holds a copy of its data, and only rack-local if it must read from another node of the rack."},
	{"replica", "A copy of a block of data; there are three of each block, on different nodes chosen at random."},
	{"the law", "If random nodes of N offer one slot at a time and each block has r replicas, a job with k maps left finds data of none of them there with probability (1 - r/N) to the power k. The mean of that over k = 1 to the number of maps is the share of maps that is only rack-local."},
	{"phased, interleaved, separate", "Orders of submission. Phased: ten long jobs, then forty small ones. Interleaved: four small jobs, one long one, and so on. Separate: as interleaved, with long and small jobs in queues of their own."},
	{"long, small", "Jobs of types 1 to 4 are long, those of types 5 to 7 small."},
	{"delayed map execution", "A later job gets a slot or two while an earlier one of its queue still has maps to run, then starves. The thesis saw it in its simulator."},
	{"books, lag", "The scheduler's count of what each queue and user holds. With a lag of 0.3 s (one heartbeat, the interval at which a node reports) a finished map stays in the count that long; exact books have no lag."},
	{"order by ratio", "The documented rule: a free slot goes to the queue that holds the smallest part of its capacity."},
	{"order by backlog", "A free slot goes to the queue with the most maps still to run, whatever the capacities. Our inference from the published numbers; no text describes it."},
	{"coefficient of variation", "Standard deviation over mean: here of a job's execution time over repetitions."},
	{"isolated, paired", "A reduce is paired if it shared its node with another reduce at some time, else isolated."},
	{"processor sharing", "Tasks that use one device at the same time each get an equal part of its speed."},
	{"TeraSort, Sort, WordCount", "Common test programs of MapReduce: two that sort, one that counts words."},
}

// capTypeTable is the seven types of job, from the data that the runs use.
func capTypeTable() Table {
	t := Table{
		Title: "The seven types of job. A map reads one block of 64 MB; the ratios are bytes out over bytes in.",
		Head:  []string{"type", "jobs of a side", "maps", "reduces", "map output / input", "reduce output / input", "map, cycles a byte", "reduce, cycles a byte"},
	}
	for i, c := range capTypes {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(i + 1), fmt.Sprint(c.count), fmt.Sprint(c.maps), fmt.Sprint(c.reduces), fmt.Sprint(c.cost.ShuffleRatio), fmt.Sprint(c.cost.OutputRatio),
			fmt.Sprint(c.cost.MapCycles), fmt.Sprint(c.cost.ReduceCycles),
		})
	}
	return t
}

// capSettingTable is the settings a to h.
func capSettingTable() Table {
	t := Table{Title: "The eight settings.", Head: []string{"setting", "cap", "user limit factor", "MULP, %"}}
	for _, s := range capSettings {
		t.Rows = append(t.Rows, []string{s.name, capWord(s), fmt.Sprint(s.factor), fmt.Sprint(s.userLimit)})
	}
	return t
}

// capExperimentTable is the 32 experiments.
func capExperimentTable() Table {
	t := Table{Title: "The 32 experiments.", Head: []string{"experiment", "submission", "capacities, %", "setting", "cap", "user limit factor", "MULP, %"}}
	pattern := []string{"phased", "phased", "interleaved", "separate"}
	for k, g := range capGroups {
		for i, s := range capSettings {
			t.Rows = append(t.Rows, []string{fmt.Sprint(g.first + i), pattern[k], g.shares(), s.name, capWord(s), fmt.Sprint(s.factor), fmt.Sprint(s.userLimit)})
		}
	}
	return t
}

func capWord(s capSetting) string {
	if s.capped {
		return "at the capacity"
	}
	return "none"
}

// shares lists the queues of a group with their capacities.
func (g capGroup) shares() (out string) {
	for _, name := range []string{"q1", "q2", "long1", "long2", "small1", "small2"} {
		if share, ok := g.queues[name]; ok {
			if out != "" {
				out += ", "
			}
			out += fmt.Sprintf("%s %d", name, share)
		}
	}
	return out
}

// foundOr picks the words for what was found.
func foundOr(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// several counts things.
func several(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprint(n, " ", of, "s")
}
