// Package live describes laboratories that are run twice: in the simulator, and on a cluster of processes. What both see is one list of
// jobs; who runs the cluster submits it there (millrace lab run --live) and says how long each job took.
//
// A Laboratory has jobs, a cluster and arms, which are the policies that it compares. [Laboratory.Simulate] predicts how long each job takes
// under an arm, given what a job costs beside its tasks ([Overheads]), which is read off the run on the cluster: a busy machine makes every
// task longer and a submission later, and what is compared is who gets a container when. [Laboratory.Judge] compares predictions with what was measured.
package live
