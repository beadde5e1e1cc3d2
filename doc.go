// Package millrace turns a MapReduce job into a program.
//
//	func main() {
//		millrace.Main(mapreduce.Job{
//			Name: "wordcount",
//			Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
//				for word := range bytes.FieldsSeq(line) {
//					emit(word, 1)
//				}
//			}),
//			Fold: mapreduce.Sum,
//		})
//	}
//
// [Main] gives the program its flags (-input, -output, -reducers, -memory and so
// on), runs the job with a progress bar, and prints a summary.
//
// # The packages
//
//	mapreduce     what a user writes: jobs, mappers, reducers, folds, formats, codecs
//	jobs          the jobs that are built into the millrace command
//	local         runs a whole job inside one process
//	task          one attempt of a map or reduce task
//	shuffle       collect, sort, combine, spill, merge
//	storage       where files are: the local disk, and the seam for other stores
//	client        talks to a master
//	master        accepts jobs, asks the policy, hands out tasks, recovers
//	worker        runs attempts, serves map output
//	dfs           the replicated block store
//	web           the dashboard
//	scheduler     the words that scheduling policies are written in, and the policies
//	topology      nodes, racks, links
//	netmon        byte counts in, utilisation and congestion out
//	sim           a simulator that drives the policies
//	lab           published experiments over the simulator
//	play          the player and the playground: decisions, one by one, for a browser
//	trace         job traces: read, describe, generate
//	bench         measures the engine, the block store and a cluster against other programs and bare loops
//	cli           the command as a package; cmd/millrace calls it
//	examples      programs on this package, a screen each
//
// ARCHITECTURE.md says how they work together.
package millrace
