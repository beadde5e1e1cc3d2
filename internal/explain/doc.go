// Package explain records what a run of small jobs does with every record, and shows it as a page, from split and
// map to reduce and output.
//
// The run uses the real engine. The package wraps the maps, combiners and reduces of the jobs and records their
// input and output. The order of pairs, and spills of a map with room for few pairs, are computed from these with
// the job's own order and fold: an engine with real memory would hold everything.
package explain
