// Package sizebased serves jobs of similar size together, so that slowdown is
// even over all of them: the policies of spec/slowdown.
//
//	fbq    K queues shared by all slots; a job moves down as it consumes service (spec/slowdown 3.2)
//	tags   the same with a partition of the nodes per queue (spec/slowdown 3.3)
//	sita   a partition per queue; a job's predicted size chooses its queue (spec/slowdown 3.4)
//	comp   K queues; a job is compared with the last K-1 finished jobs (spec/slowdown 3.5)
//	srpt   least remaining work first, sizes known: an oracle to compare with (spec/slowdown 3.7)
//
// The first four are one Policy put together from small parts: queues (who is
// before whom), feedback (when a job moves down), partition (which nodes serve
// which queue), predictor (how big a job will be). Queues are counted from 1 in
// words and from 0 in code.
//
// The driver has no duties beyond those of package scheduler, except that tags
// with Restart is a scheduler.Killer, whose victims must be carried out before
// the job runs again.
package sizebased
