// Package script makes policies of Starlark, a small dialect of Python: deterministic, without files, clock or network. A script
// defines one function:
//
//	def key(job, node, now):
//	    return job.pending_maps          # the job with the smallest key is served first; of equals the oldest
//
// or, for those who want to decide everything,
//
//	def assign(node, cluster, now):
//	    for job in cluster.jobs("map"):  # those with a map that may start and fits, oldest first
//	        if job.maps_on(node) > 0:
//	            return run(job, "map", "{job} has input on {node}")
//	    return idle("nobody has input on {node}")
//
// state is a dictionary that keeps what a script wants to remember. docs/policies/write-your-own.md lists what it can ask.
//
// A call may take [MaxSteps] steps. Memory is not bounded here, nor is the time of what takes no steps: run other
// users' scripts in a process of its own. A [Question] has all that a script may see, so that a master can ask one that
// runs elsewhere (internal/scripthost): [Asking] is the policy of such a script, and decides what [New] decides.
package script
