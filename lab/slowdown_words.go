package lab

import "fmt"

var slowdownGroup = Group{
	ID: "slowdown", Name: "Variability of slowdown",
	Source: "The paper \"Reducing Job Slowdown Variability for Data-Intensive Workloads\". Our specification of it names neither authors nor year.",
	Intro: "A small job that waits behind a large one takes many times what it would take alone. The paper proposes four policies (FBQ, TAGS, SITA, COMP) that serve jobs of similar size together, and measures how much " +
		"more even they make slowdown than FIFO does. \"Item 3\", and the number before each row's colon, is a numbered statement of the list \"What to reproduce\" in our specification (slowdown.md, section 5), which also " +
		"sets what is accepted. \"R13\" is a published result, listed in the table below. \"V-A\", \"Fig. 12\" and \"Table II\" are sections, figures and tables of the paper. " +
		"Our specification's own model is a small program that its author wrote to see what may be expected; its numbers were not published.",
	Words:  append(slowdownPolicyWords, slowdownOtherWords...),
	Tables: []Table{slowdownResults, policyTable(), validationTable()},
}

var slowdownPolicyWords = []Word{
	{"FIFO, fifo", "First come, first served: all free slots go to the earliest job that can use them. The base of all comparisons."},
	{"FBQ, fbq", "Feedback queueing: every job starts in the first queue and sinks to the next when it has used more service than the queue's limit; all slots serve the first queue first. It needs no knowledge of sizes."},
	{"TAGS, tags", "Task assignment by guessing size: as FBQ, but each queue has its own part of the nodes (a partition) and never uses another's."},
	{"SITA, sita", "Size-interval task assignment: a job's size is predicted when it arrives, and it goes to the partition for its range of sizes for good."},
	{"COMP, comp", "Comparison: a job's predicted size is compared with the sizes of the jobs that finished last; the more of them it exceeds, the lower its queue. No limits, no partitions."},
	{"fbq4, comp4, K=4", "The same with four queues; K is the number of queues, 2 where nothing is said."},
	{"fair, FAIR", "A free slot goes to the job with the fewest running tasks. Not one of the paper's policies; shown for comparison."},
	{"srpt, SRPT", "The job with the least work left goes first. It knows all sizes exactly, which no real scheduler does: a lower bound."},
	{"restart", "TAGS as in its ancestor for single servers: a job that moves to the next queue is stopped and starts from nothing."},
}

var slowdownOtherWords = []Word{
	{"wave", "As many tasks of a job as it has slots, run at the same time."},
	{"slowdown", "The time from a job's arrival to its end, over the time it takes alone in the empty cluster; 1 is no delay at all."},
	{"median, p95, p99", "Percentiles of slowdown over the jobs of a run: half, 95 % and 99 % of the jobs have at most this."},
	{"V(q), variability", "Slowdown at the q-th percentile over the median; V(95) is the paper's measure of unevenness, and 1 would be strictly fair."},
	{"GREP, SORT, WCOUNT", "Test programs: searching for a pattern, sorting, counting words. \"GREP 400/40\" has 400 maps and 40 reduces."},
	{"slot", "Room for one task on a node, for a map or for a reduce: \"6 + 2\" is six map and two reduce slots on each node."},
	{"slot-second", "A slot that is used for one second; the unit of work, of job sizes and of limits."},
	{"job size", "The run times of all tasks of a job added up, in slot-seconds."},
	{"occupancy", "How long a job's tasks hold slots in all, with the time that reduces wait in theirs."},
	{"limit", "The size or the service, in slot-seconds, above which a job belongs to the next queue."},
	{"partition, share", "The nodes that serve one queue only, and which part of all nodes they are; partition 1 is for small or young jobs."},
	{"load", "The work that arrives in a second over the number of slots: at 0.9 the cluster is busy 90 % of the time, if no slot is left idle while there is work."},
	{"slow start 0.05 or 1", "The part of a job's maps that must be done before its reduces may take slots. With 0.05 they take them early and wait in them; with 1 they do not."},
	{"hoarding", "Reduces that hold slots while the maps they wait for are not served."},
	{"heartbeat", "The moment at which a node asks for work. In the paper's simulator a slot asks as soon as it is free; a real cluster asks every few seconds."},
	{"Poisson arrivals", "Jobs arrive at random and independently of each other, with exponential gaps."},
	{"utilisation", "The part of all slots that is in use, over the whole run."},
}

// slowdownResults are the published results that rows refer to (slowdown.md 4.4).
var slowdownResults = Table{
	Title: "The published results, by number (limits and job sizes in slot-seconds)",
	Head:  []string{"number", "load", "result", "where in the paper"},
	Rows: [][]string{
		{"R1", "0.7", "FIFO has a median slowdown of 2.8, a 95th percentile of 23.8 and V(95) of 8.5", "VI-A, Fig. 6"},
		{"R2", "0.7", "TAGS: the share of partition 1 hardly matters between 20 and 50 %", "VI-A, Fig. 6a"},
		{"R3", "0.7", "SITA is best with 20 or 30 % for partition 1; outside of that V is much higher", "VI-A, Fig. 6b"},
		{"R4", "0.7", "the best limit of SITA is above that of TAGS at the same share", "VI-A, Fig. 5"},
		{"R5", "0.7", "TAGS at 50 %: a low limit gives a low median and a high V, a high limit the reverse; best at 14,000", "Fig. 7a"},
		{"R6", "0.7", "SITA at 30 %: stable from 14,000 to 20,000, above that the median gets very poor; best at 18,000", "Fig. 7b"},
		{"R7", "0.7", "FBQ does not depend much on its limit; best of all in median and V; best at 12,000", "Fig. 8a"},
		{"R8", "0.9", "FBQ depends more on its limit", "Fig. 8b"},
		{"R10", "0.7", "SITA (limit 18,000) and FBQ (12,000) have very close V; that of TAGS may be lower than SITA's, with a much higher median", "VI-B"},
		{"R11", "0.9", "the median of TAGS is twice FIFO's; the 95th percentiles of TAGS and COMP are above 60", "VI-C, Fig. 10"},
		{"R12", "0.9", "the median of SITA is half of FIFO's; the 5 % largest jobs are hurt", "VI-C"},
		{"R13", "0.7", "FBQ halves V(q) against FIFO at all percentiles; COMP is better than FIFO only up to the 95th", "VI-D, Fig. 11"},
		{"R14", "0.7", "the mean slowdown by size is lower and flatter under FBQ, SITA and COMP than under TAGS and FIFO", "VI-D, Fig. 12"},
		{"R15", "0.7 to 0.9", "FBQ and SITA with two queues halve FIFO's 95th percentile", "VI-E"},
		{"R16", "0.9", "FBQ with four queues has a median 30 % below that with two; no job below 4,000 lies above the 95th percentile", "VI-E, Fig. 13"},
		{"R17", "0.9", "COMP with four queues has a lower median than FBQ with four, and varies more for large jobs", "VI-E, Fig. 13"},
		{"R19", "0.7", "under TAGS and SITA the jobs that are just too big for partition 1 suffer, not the largest", "VI-D"},
	},
}

func policyTable() Table {
	limits := func(p map[string]string) string { return p["limits"] }
	return Table{
		Title: "The policies and the parameters used here, unless a page varies them (limits in slot-seconds)",
		Head:  []string{"policy", "queues", "own nodes for each queue", "jobs sink", "job sizes", "limits", "shares of nodes"},
		Rows: [][]string{
			{"FIFO", "1", "no", "no", "unknown", "", ""},
			{"FBQ", "2", "no", "yes", "unknown", limits(fbq2), ""},
			{"FBQ, K=4", fbq4["k"], "no", "yes", "unknown", limits(fbq4), ""},
			{"TAGS", "2", "yes", "yes", "unknown", limits(tags), tags["shares"]},
			{"SITA", "2", "yes", "no", "predicted", limits(sita), sita["shares"]},
			{"COMP", "2, or " + comp4["k"] + " where said", "no", "no", "predicted, compared", "", ""},
		},
	}
}

func validationTable() Table {
	t := Table{
		Title: "The eight validation jobs (Table II of the paper); task lengths are our specification's, found so that both published columns are met",
		Head:  []string{"job, maps/reduces", "one map, s", "one reduce, s", "occupancy, slot-seconds", "run time alone, s", "of the fifty jobs"},
	}
	for _, j := range tableIIJobs {
		t.Rows = append(t.Rows, []string{j.name, fmt.Sprintf("%.2f", j.m), fmt.Sprintf("%.2f", j.r), fmt.Sprintf("%.2f", j.size), fmt.Sprintf("%.2f", j.run), fmt.Sprint(j.jobs)})
	}
	return t
}
