package lab

import (
	"fmt"

	"github.com/millrace/millrace/topology"
)

var jobpackerGroup = Group{
	ID: "jobpacker", Name: "Optical circuits",
	Source: "Chapter 4 of a longer work on scheduling for MapReduce clusters, whose chapters 3 and 5 are the groups nas and hybrid. Our specification of it, jobpacker.md, names neither author nor title.",
	Intro: "The chapter proposes JobPacker, a scheduler for clusters whose racks are joined twice: by a slow packet network, and by a fast optical switch that joins each rack to one other at a time. " +
		"A circuit pays only for large transfers, so JobPacker packs a job into few racks and holds its shuffle back until it is large. " +
		"The number before the colon of a row is an item: one of the numbered statements that our specification lists under \"What to reproduce\"; \"jobpacker.md 5, item 7\" is the seventh of them. " +
		"\"Figure 4.6\" is a figure of the chapter. Published ratios are computed from the reductions that the chapter states for its simulations: 35 % less is 0.65.",
	Words:  jobpackerWords,
	Tables: []Table{packSystems(), packSettings()},
}

var jobpackerWords = []Word{
	{"Packet network", "The ordinary network between racks (in the source EPS, electrical packet switch). Everybody may use it at once; a rack has 30 Gb/s of it."},
	{"Circuit, optical switch", "A link of 100 Gb/s from one rack to one other (in the source OCS, optical circuit switch). A rack can send on one circuit and receive on one at a time."},
	{"Dark time", "The 10 ms that the switch needs to turn. No circuit carries anything meanwhile."},
	{"Reconfiguration interval", "How often the switch chooses its circuits anew; 1 s."},
	{"Elephant, threshold", "A transfer between two racks of more than 1.125 GB, the threshold. Elephants wait for a circuit, everything else takes the packet network."},
	{"Shuffle", "The output of a job's maps that its reduces fetch."},
	{"Heavy job", "A job that shuffles at least the threshold."},
	{"1 GB rule", "A job whose shuffle size is not known counts as heavy if its input is above 1 GB. Recall is the share of the heavy jobs that the rule finds, precision the share of heavy jobs among those that it names."},
	{"Map racks, reduce racks", "How many racks run the maps of a job, and how many its reduces."},
	{"Block", "The piece of a job's input that one map reads, unless the input is smaller."},
	{"Wave", "As many tasks as there are containers. A stage of two waves takes twice as long as one of one wave."},
	{"Green zone", "The pairs of map and reduce racks with which a job runs in one wave of maps and one wave of reduces and its shuffle goes over circuits. JobPacker chooses among them. In the figure of the source they are green."},
	{"Container", "Room for one task on a machine."},
	{"JobPacker", "Plans recurring jobs before they come: few racks for maps and for reduces, from the green zone. Holds the shuffle of heavy jobs back until it is large enough for a circuit."},
	{"Corral", "Plans recurring jobs too, but puts maps and reduces of a job into the same few racks, so that little has to cross racks. It holds nothing back."},
	{"F-Hybrid", "Fair sharing, every job the same number of containers, on packet network and circuits. No plans. What the others are compared with."},
	{"F-EPS", "Fair sharing on a packet network as fast as the circuits, 100 Gb/s to a rack, without optical switch. It shows what an expensive network would bring."},
	{"Recurring and ad-hoc job", "A job that was announced with its size, so that it can be planned; and one that comes unannounced."},
	{"Mixed", "Half of the jobs are ad hoc."},
	{"Over-provisioning", "Planning recurring jobs with more containers than they need; ratio 1 is twice as many. It leaves room for ad-hoc jobs."},
	{"Aggregating ad-hoc jobs", "JobPacker that packs ad-hoc jobs into few racks as well. The source found it no better and rejected it."},
	{"Slow start", "The share of a job's maps that must be done before its reduces may start; 0.7."},
	{"Sub-batches", "The parts into which JobPacker divides a batch before it plans, so that the widest jobs do not all come first; 5."},
	{"Demand, Tetris score", "Shuffle bytes, maps and reduces of a job as shares of those of the batch. The score is the sum of the products of what a sub-batch has left and what a job demands: the job with the highest score is put in next."},
	{"Wrong plans", "The planner is told shuffle sizes that are off by up to half, and arrivals of half of the jobs that are off by up to 200 s."},
	{"Makespan", "From the first submission to the end of the last job."},
	{"Completion time", "From the submission of a job to its end. The median is that of recurring jobs unless a row says otherwise."},
	{"The public trace", "A day of a Facebook cluster in 2010, 24,442 jobs (FB-2010). Where a machine does not have it, jobs come from a model fitted to it, and the set-up says so."},
	{"FB-2009, FB-2010", "Public samples of jobs of Facebook clusters of 2009 and 2010, a day each; \"0\", \"1\" and \"withInputPaths_0\" are the ends of their file names."},
}

// packTitles are the names of the systems on a page.
var packTitles = map[string]string{"f-hybrid": "F-Hybrid", "f-eps": "F-EPS", "corral": "Corral", "jobpacker": "JobPacker"}

func packSystems() Table {
	t := Table{Title: "The systems that are compared", Head: []string{"name", "packets, to a rack", "circuits", "recurring jobs are planned", "shuffle is held back"}}
	circuits, packets := linkRate(simulated.circuit), linkRate(simulated.packet)
	for _, name := range packNames {
		row := []string{packTitles[name], packets, circuits, "no", "no"}
		switch name {
		case "f-eps":
			row[1], row[2] = linkRate(simulated.circuit), "none"
		case "corral":
			row[3] = "yes"
		case "jobpacker":
			row[3], row[4] = "yes", "yes"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func packSettings() Table {
	h := simulated
	return Table{Title: "The cluster, unless a row says otherwise", Head: []string{"what", "value"}, Rows: [][]string{
		{"racks, machines in a rack, containers of a machine", fmt.Sprintf("%d, %d, %d", h.racks, h.servers, h.containers)},
		{"link of a machine", linkRate(h.nic)},
		{"packet network, to a rack", linkRate(h.packet)},
		{"circuit", linkRate(h.circuit)},
		{"threshold of an elephant", fmt.Sprintf("%.3f GB", float64(h.threshold)/1e9)},
		{"circuits chosen anew, dark time", fmt.Sprintf("every %g s, %d ms", h.interval.Seconds(), h.dark.Milliseconds())},
		{"slow start", h.slowstart},
		{"jobs", "1,000"},
	}}
}

func linkRate(r topology.Rate) string { return fmt.Sprintf("%.0f Gb/s", float64(r)*8/1e9) }
