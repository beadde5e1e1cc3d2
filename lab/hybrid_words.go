package lab

import "fmt"

var hybridGroup = Group{
	ID: "hybrid", Name: "Scale-up beside scale-out machines",
	Source: "Chapter 5 of a longer work on scheduling for MapReduce clusters, whose chapters 3 and 4 are the groups nas and jobpacker. Our specification of it, hybrid.md, names neither author nor title.",
	Intro: "The chapter replaces a part of a cluster of many cheap machines by a few strong ones of the same price, and runs small jobs on the strong ones. " +
		"It proposes a classifier that tells small jobs from large ones, a rule by which idle cheap machines take over whole small jobs, and a rule that keeps copies of all data on both kinds. " +
		"The number before the colon of a row is an item: one of the numbered statements that our specification lists under \"What to reproduce\"; \"hybrid.md 5, item 7\" is the seventh of them. " +
		"\"Figure 5.18\" is a figure of the chapter. Published values are called \"real\" where the source measured them on a cluster and \"simulated\" where it simulated a larger one.",
	Words:  hybridWords,
	Tables: []Table{hybridSystems()},
}

var hybridWords = []Word{
	{"Scale-out machine", "A cheap machine. Here it runs 8 tasks at once."},
	{"Scale-up machine", "A strong machine that costs as much as five scale-out machines. Here it runs 24 tasks at once, each of them faster."},
	{"Traditional and hybrid cluster", "50 scale-out machines; and, at the same cost, 40 scale-out and 2 scale-up machines."},
	{"Container", "Room for one task on a machine."},
	{"Wave", "As many tasks as there are containers, run at the same time."},
	{"Crosspoint", "The input size at which a job alone takes as long on five scale-out machines as on one scale-up machine. The more a job shuffles, the higher it is."},
	{"Small and large job", "A job below or above its crosspoint: faster on scale-up, or faster on scale-out machines."},
	{"Shuffle", "The output of a job's maps that its reduces fetch."},
	{"Recurring job", "A job that ran before, so that its shuffle size is known. Half of the jobs recur."},
	{"Classifier", "What calls a job small or large. It sees the numbers of maps and reduces and the shuffle size, which counts as 0 for a job that does not recur."},
	{"Label rule", "A formula for the crosspoint, fitted to the two that were published: 17.45 GB without any shuffle, more with some, 64 GB at most. It says what is right, and the timed runs classify by it."},
	{"Support vector machine", "A classifier that is trained with examples and says how far a job is from the boundary between the classes."},
	{"Margin", "How far beyond the boundary a job of unknown shuffle size must be to be called small. It is widened until no such job would turn large when its shuffle is known."},
	{"Stealing", "Scale-out machines that have nothing to run take over a whole small job that has not started. The job nearest the boundary goes first."},
	{"Literal rule, guard", "By the letter of the source a job is stolen even if scale-up machines have room for it. The guard, ours and normally on, forbids that."},
	{"FS, DS", "The traditional cluster under fair sharing (every job gets the same number of containers), and under delay scheduling (the same, but a job without data on the free machine waits a little)."},
	{"H-FS-w/o, H-DS-w/o", "The hybrid cluster under fair sharing or delay scheduling, with none of the strategies: any job runs on any machine."},
	{"H-FS-with, H-DS-with", "The hybrid cluster with all strategies: classified jobs, stealing and two replicas plus one. Fair sharing or delay scheduling orders the jobs of each class."},
	{"H-w/o-JS", "H-FS-with without job stealing."},
	{"H-w/o-P", "H-FS-with without placement of jobs: any job runs on any machine."},
	{"H-w/o-DPS", "H-FS-with without the rule for placing data: replicas are anywhere."},
	{"Two plus one", "Each block of data has two replicas (copies) on scale-out machines of one rack and one on a scale-up machine."},
	{"Node-local, rack-local", "A map runs on a machine that holds its data, or in the rack of one."},
	{"Completion time", "From the submission of a job to its end."},
	{"Makespan", "From the first submission to the end of the last job."},
	{"Work conservation", "What follows from counting containers alone: less room for the same work takes longer."},
	{"FB-2010", "A public trace of a day of a Facebook cluster in 2010. The jobs of this group are drawn from a model fitted to it."},
}

// hybridSystems is the table of what is compared, from the data of the runs.
func hybridSystems() Table {
	t := Table{
		Title: "The systems that are compared",
		Head:  []string{"name", "scale-out machines", "scale-up machines", "containers", "order of jobs", "jobs are classified", "stealing", "replicas"},
	}
	for _, v := range strategies(false, 0) {
		t.Rows = append(t.Rows, v.row())
	}
	return t
}

func (v hybridVariant) row() []string {
	yes := map[bool]string{true: "yes", false: "no"}
	order := map[string]string{"fair": "fair sharing", "delay": "delay scheduling"}[v.base]
	replicas := "one on the writer, two in another rack"
	if v.on {
		replicas = "two plus one"
	}
	out := v.cluster.racks * v.cluster.perRack
	return []string{
		v.name, fmt.Sprint(out), fmt.Sprint(v.cluster.up), fmt.Sprint(v.cluster.slots()), order, yes[v.on], yes[v.steal], replicas,
	}
}
