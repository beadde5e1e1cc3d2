// Package streaming runs any command as mapper, combiner or reducer over standard
// input and output, by the conventions of Hadoop Streaming:
//
//   - A mapper reads lines. A reducer reads "key TAB value" lines, sorted by key; it
//     notices by itself where one key ends and the next begins.
//   - What a mapper prints is divided at the first tab into key and value; a line
//     without a tab is all key. What a reducer prints is the output, line by line.
//   - On standard error, "reporter:counter:GROUP,NAME,N" adds to a counter and
//     "reporter:status:TEXT" sets the status. Everything else there is a log, whose
//     last lines an error shows. A counter that is not allowed, such as one too many,
//     fails the attempt.
//   - A combiner reads and prints as a reducer does, but its lines are divided again. It
//     runs over the sorted output of a mapper, a few MiB at a time.
//   - The job's settings are environment variables, with every character that is not
//     a letter or digit turned into an underscore: mapreduce_job_name,
//     mapreduce_task_partition, mapreduce_map_input_file and so on.
//   - An exit status other than 0 fails the attempt.
//
// A command runs in a process group of its own, in the directory of the job's side files. When the attempt ends,
// however it ends, the whole group is killed.
package streaming
