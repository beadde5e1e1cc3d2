package lab

var marpGroup = Group{
	ID: "marp", Name: "Admission of application masters",
	Source: `A thesis on how many jobs a Hadoop YARN cluster should run at once, with three controllers named CBT, CBTwS and CBTwAT. (Our specification of it names neither title nor author.)`,
	Intro: `Every running job holds a container for its driver, and a setting called MARP caps the part of the cluster that drivers may hold. The thesis changes MARP while a batch of jobs runs, ` +
		`so that a new job starts when the processors idle, and reports that batches end earlier than when all jobs run at once. ` +
		`The number before the colon of a row is an item: a statement of the thesis, numbered in the list "What to reproduce" of our specification of it (named marp.md in the line below a page's title). ` +
		`Numbers in parentheses such as (7.1.2) are sections of the thesis, Fig. 5.3 is a figure of it.`,
	Words: marpWords,
}

var marpWords = []Word{
	{"driver", "The process that looks after one job from its start to its end; Hadoop calls it application master. Here it holds 2 GB."},
	{"MARP", "Maximum application-master resource percent: the part of the cluster's memory that all drivers together may hold. It decides how many jobs run at once. It never stops a job that runs."},
	{"batch", "Several equal jobs that are submitted together. Its completion is the end of the last one."},
	{"PRJ", "All jobs of the batch in parallel, under a MARP that has room for all their drivers (0.25 for six)."},
	{"one by one (FIFO)", "One job at a time: a MARP of 0.05."},
	{"static MARP", "A value that stays the same during the batch."},
	{"CBT (cbt)", "CPU-based tuning: a controller that raises MARP by 0.04, enough for one more job, whenever more than 15 % of the processors idle."},
	{"CBTwS (cbtws)", "CBT with smoothing: raises MARP only if the smoothed progress of the running jobs also gets faster."},
	{"CBTwAT (cbtwat)", "CBT with adaptive threshold: as CBTwS, but progress must get faster by a threshold. It tries three thresholds and then mostly uses the one that scored best."},
	{"gain", "How much earlier than under PRJ the batch ends, in per cent of PRJ's time; below 0 it ends later."},
	{"increase, decrease", "A controller adds 0.04 to MARP to start a job, and takes 0.03 off when a job is about to end, so that its end does not start another one."},
	{"the drop", "The decrease before a job ends."},
	{"drift", "A decrease is smaller than an increase. After three of them the difference has room for one more driver than planned."},
	{"the sleep", "The 30 s that a controller does nothing after an increase, because the new job does not show yet."},
	{"reload delay", "The 10 to 15 s from the writing of MARP until the scheduler reads its file again."},
	{"start-up", "About 15 s from the admission of a job to its first map."},
	{"Fair Scheduler", "Hadoop's scheduler that gives running jobs equal parts of the cluster."},
	{"double start", "Two jobs admitted within 5 s of each other, the first of the batch apart."},
	{"staircase", "The picture of jobs that start one after the other, the next one when an earlier one has finished its maps."},
	{"progress, points", "How much of a job is done, from 0 to 100 points; its maps are done at 50."},
	{"delta", "What the mean progress of the running jobs gained since the last measurement. Smoothed: 40 % of the new delta and 60 % of the smoothed one before, rounded."},
	{"lock-up (slow-start deadlock)", "Reduces are placed before all maps have run. If drivers and waiting reduces fill the memory, no map finds room and nothing ever ends. From 17 jobs on it can happen here."},
	{"reduces held back", "A cure of the lock-up: a job's reduce is placed only after its last map."},
	{"golden vector", "A worked example in our specification: 14 measurements in a row with the decision that the published scripts make after each."},
	{"profile", "How long tasks take, and how they slow each other down on one machine with 16 hardware threads and one disk. The thesis prints no task lengths; about nine parameters were fitted to six of its means."},
	{"calibrated", "The row compares with a number that the profile was fitted to. It shows that the number is attainable, no more."},
	{"specification's model", "The small program in which our specification fitted the profile. Its numbers are not published ones."},
	{"TeraSort, WordCount, Sort", "The test programs: jobs of 24 maps (3 GB), 16 maps (2 GB) and 20 maps (2.5 GB), with one reduce each."},
}

// controllerNames are the controllers and PRJ as the source writes them.
var controllerNames = map[string]string{"prj": "PRJ", "cbt": "CBT", "cbtws": "CBTwS", "cbtwat": "CBTwAT"}
