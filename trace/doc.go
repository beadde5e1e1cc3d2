// Package trace reads, writes, describes and generates job traces: what jobs came
// when, and how many bytes each read, shuffled and wrote.
//
// [ReadSWIM] reads the public SWIM format (one job a line, tab-separated: id, submit
// second, gap, input, shuffle and output bytes, optional paths). [Describe] gives the
// statistics that papers quote. [Model.Generate] makes traces of any length with the
// heavy tails and the correlations of a real one, so that nobody needs the files;
// [Fit] makes such a model from a trace.
//
// A [History] is what happened on a cluster, with the attempts of every task: the format
// of docs/formats/history.md, read by [ReadHistory] and written by [WriteHistory].
//
// The package knows nothing of policies or simulators.
package trace
