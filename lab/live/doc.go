// Package live describes laboratories that run twice: in the simulator, and on a cluster of processes. Both get one
// list of jobs; the caller that runs the cluster submits it there (millrace lab run --live) and says how long each job
// took.
//
// A Laboratory has jobs, a cluster and arms, which are the policies that it compares. [Laboratory.Foretell] predicts
// how long each job takes under an arm, given what a job costs beside its tasks ([Overheads]), as measured on the
// cluster: a busy machine makes every task longer and a submission later, and what is compared is who gets a container
// when. [Laboratory.Judge] compares predictions with measurements.
package live
