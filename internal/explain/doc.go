// Package explain records what a run of small jobs does with every record, and shows it as a page: split, map, partition, sort,
// combine or fold, spill, merge, group, reduce, output.
//
// The run is the engine's own. The package wraps the maps, combiners and reduces of the jobs and notes what goes in and comes
// out. The order of pairs, and spills of a map with room for few pairs, are worked out from the notes by the job's own
// order and fold: an engine with real memory would hold all of it.
package explain
