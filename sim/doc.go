// Package sim is a discrete-event simulator of a MapReduce cluster. It drives the
// very policies that the master runs, through the same scheduler.Engine, and is
// deterministic: the same configuration and seed make the same run, event by event.
//
// A caller describes a cluster and its policy in a [Config], the workload as a slice
// of [Job], and calls [Run], which returns when every job has ended or when it can
// show that nothing will ever happen again (a *[StallError] says what each job waits
// for).
//
// How long attempts take is the business of a [Model]: [NewFixed] holds each container
// for a given time, the reduces counted from the end of the job's last map;
// [NewContention] and [NewDevices] share machines; in [NewNetwork] tasks read, shuffle
// and write over the links of the topology, which sim/flow shares among them.
//
// The package is pure: no process, socket, file or clock. Time is the virtual
// time.Duration since the start; randomness comes from the seed.
package sim
