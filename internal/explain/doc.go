// Package explain records what a run of small jobs does with every record, and shows it as a page: split, map, partition, sort,
// combine or fold, spill, merge, group, reduce, output.
//
// The run uses the real engine. The package wraps the maps, combiners and reduces of the jobs and records their
// input and output. The order of pairs, and spills of a map with room for few pairs, are computed from these records
// with the job's own order and fold, because an engine with real memory would hold everything.
package explain
