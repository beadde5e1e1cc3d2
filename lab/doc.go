// Package lab is the laboratory: the published experiments behind the scheduling
// policies as code. Each [Experiment] has an id, the document it comes from, and a
// function that sets the experiment up, runs it in the simulator, and puts what was
// published beside what was measured as a [Check].
//
// [All] lists the experiments; [Run] runs one and returns its [Report]. The same seeds
// make the same report, whatever the number of cores.
//
// Nothing is tuned to a number except where the specification calls it a calibration;
// the check then says calibrated.
package lab
