package lab

import (
	"fmt"

	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/topology"
)

var nasGroup = Group{
	ID: "nas", Name: "Network-aware scheduling",
	Source: "A long document in chapters on scheduling MapReduce jobs with the network in mind: chapter 3 (NAS), chapter 2 (how jobs run) and chapter 6 (its simulator). " +
		"Our specification of it gives no title, author or year.",
	Intro: "Racks are joined by links that are narrower than what their nodes could send together. The document proposes NAS, a scheduler that watches these links and chooses when and where maps and reduces run, " +
		"so that shuffles do not fill them, and compares it with Fair, Delay and ShuffleWatcher. \"Item 4\", and the number before each row's colon, is a numbered statement of the list \"What to reproduce\" " +
		"in our specification (nas.md, section 5), which also sets what is accepted. \"Figure 3.13\" and \"equation 3.5\" are the document's own numbers. " +
		"Values over Fair are taken run by run, on the same jobs, and then averaged.",
	Words:  append(nasPolicyWords, nasOtherWords...),
	Tables: []Table{nasClusterTable(), nasClassTable(), nasPublishedTable()},
}

var nasPolicyWords = []Word{
	{"fair, Fair", "Each job should hold about the same number of containers, whoever its user is: a free one goes to the job that holds fewest. It does not wait for anything and does not look at the network."},
	{"delay, Delay", "Shares between users, not between jobs as Fair does: a free container goes to the user who holds fewest, and there to the job that holds fewest. But a user without input on the free node is passed over for a while (5 s in nas-40, nas-ablation and nas-sweeps, 135 offers in nas-600), so that maps run where their input is."},
	{"sw-delay, SW-delay", "ShuffleWatcher on top of Delay: squeezes a job's maps into few racks so that little has to be shuffled between racks, and starts no reduce at all in a rack whose link is congested."},
	{"nas, NAS", "The proposal: MTS for maps; for reduces CA-RTS where the rack's link has room and CR-RTS where it is congested."},
	{"MTS", "Map task scheduling: starts a map on a node only if the output in the making there stays under the traffic threshold; users are passed over as under Delay."},
	{"CA-RTS", "Congestion-avoiding reduce scheduling: puts a job's reduces into racks in proportion to where its map output lies, and lets jobs with small shuffles start their reduces later."},
	{"CR-RTS", "Congestion-reducing reduce scheduling: while a rack's link is congested, only shuffle-light jobs start there; the others are held until the link has room or their user's patience ends."},
	{"nas-mts, MTS alone", "NAS with MTS only; reduces are placed as under Fair, from a fifth of the maps on."},
	{"nas-mts-ca, MTS+CA-RTS", "NAS without CR-RTS: congestion changes nothing."},
	{"nas-no-tt", "NAS without the traffic threshold: any map may start anywhere."},
	{"nas-no-mct", "NAS with a constant completion threshold of 0.2 for all jobs."},
	{"nas-no-both", "NAS without both thresholds."},
	{wideFair, "Fair in a network whose links are a hundred times as wide: nothing is ever congested. No policy; it shows how much there is to gain."},
}

var nasOtherWords = []Word{
	{"container", "Room for one task, map or reduce, on a node."},
	{"throughput", "Jobs over the time from the start to the end of the last job. With few jobs of very different sizes the largest job decides it."},
	{"mean completion", "From a job's submission to the end of its last task, averaged over jobs; smaller is better."},
	{"traffic threshold", "How much map output may be in the making on one node: containers per node times the mean output of a map, over all unfinished jobs (equation 3.3)."},
	{"completion threshold, T_min, T_max", "The part of a job's maps that must be done before its reduces may start; it falls in a line from T_max for the smallest shuffle in the cluster to T_min for the largest (equation 3.5)."},
	{"congested", "A rack's link to the core is used to 80 % or more, measured each second. An occurrence is a change from not congested to congested, summed over racks."},
	{"oversubscription 5:1", "The nodes of a rack could send five times what the rack's link to the core carries."},
	{"skip, patience", "A user who is next in line but has no fitting task for the free node is passed over (skipped), up to a bound: the patience."},
	{"shuffle-qualified, near", "A map is qualified if its predicted output fits under the node's traffic threshold, and near if its input lies on the node."},
	{"bytes across racks", "What crosses the links between racks: input that maps read from another rack, and shuffle."},
	{"skew", "Bytes into the rack that receives most, over the mean of all racks; 1 is even."},
	{"map progress at the first reduce", "The part of a job's maps that is done when its first reduce starts."},
	{"nodes above the traffic threshold", "The share of samples, every 10 s of every node, in which more map output was in the making than the threshold allows."},
	{"sizes x1, sizes x0.2", "All bytes of the trace's jobs as they are, or times 0.2; the limits of the classes go with them."},
	{"p, q, f", "In nas-skips: the chance that a node holds a job's data, that one of its maps is qualified, and that a job is shuffle-light."},
	{"FB-2010, the trace", "A public record of 24,442 jobs of one day at Facebook in 2010: arrival, input, shuffle and output bytes. How long tasks took is not in it."},
}

func megabits(r topology.Rate) string { return fmt.Sprintf("%g Mb/s", float64(r)*8/1e6) }

func nasClusterTable() Table {
	row := func(name string, c nasCluster, jobs string) []string {
		return []string{
			name, fmt.Sprintf("%d in %d racks of %d", c.racks*c.nodes, c.racks, c.nodes), fmt.Sprint(c.containers), megabits(c.nic), megabits(c.uplink), fmt.Sprint(c.users), jobs,
		}
	}
	return Table{
		Title: "The two clusters",
		Head:  []string{"experiments", "nodes", "containers on a node", "to each node", "to each rack", "users", "jobs"},
		Rows: [][]string{
			row("nas-40, nas-ablation, nas-sweeps", nas40, "200 drawn from the trace, 14 s apart on average"),
			row("nas-600", nas600, "the whole trace as it arrived, sizes x0.2"),
		},
	}
}

func nasClassTable() Table {
	c := nas.DefaultClasses()
	mb := func(bytes int64) string { return fmt.Sprintf("%d MB", bytes>>20) }
	return Table{
		Title: "The classes of jobs (a megabyte is 2^20 bytes)",
		Head:  []string{"class", "rule"},
		Rows: [][]string{
			{"shuffle-light", "shuffles less than " + mb(c.Light)},
			{"shuffle-medium", "shuffles " + mb(c.Light) + " to " + mb(c.Heavy)},
			{"shuffle-heavy", "shuffles more than " + mb(c.Heavy)},
			{"small-input", "reads less than " + mb(c.SmallInput)},
		},
	}
}

// nasPublished are the values of NAS over Fair, Delay and SW-delay that the checks ask for (nas.md 4.4).
var nasPublished = struct{ throughput40, completion40, throughput600 [3]float64 }{
	[3]float64{1.58, 1.39, 1.27}, [3]float64{0.62, 0.69, 0.71}, [3]float64{1.569, 1.412, 1.280},
}

func nasPublishedTable() Table {
	row := func(name string, v [3]float64) []string {
		return []string{name, fmt.Sprintf("%.4g", v[0]), fmt.Sprintf("%.4g", v[1]), fmt.Sprintf("%.4g", v[2])}
	}
	return Table{
		Title: "What was published: NAS over the others",
		Head:  []string{"", "over Fair", "over Delay", "over SW-delay"},
		Rows: [][]string{
			row("throughput, 40 nodes, its simulator", nasPublished.throughput40),
			row("throughput, 40 nodes, a real cluster", [3]float64{1.63, 1.47, 1.30}),
			row("mean completion, 40 nodes, its simulator", nasPublished.completion40),
			row("mean completion, 40 nodes, a real cluster", [3]float64{0.57, 0.64, 0.68}),
			row("throughput, 600 nodes, its simulator", nasPublished.throughput600),
		},
	}
}
