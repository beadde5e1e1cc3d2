// Package schedulertest holds what every scheduling policy is tested with.
//
// Suite runs a policy through random clusters, workloads and faults and checks
// what no policy may break. Scenarios runs stories from testdata in a small
// language, so that a lecturer can write a situation and see the decisions with
// their reasons. BenchDecisions measures the cost of one decision in a big,
// full cluster.
//
// The three calls that matter, in a family's tests:
//
//	func TestSuite(t *testing.T) {
//		schedulertest.Suite(t, func() scheduler.Policy { return New(DefaultConfig()) }, schedulertest.Promises{WorkConserving: true})
//	}
//	func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", &Info) }
//	func BenchmarkDecisions(b *testing.B) { schedulertest.BenchDecisions(b, newPolicy, schedulertest.Big) }
//
// scheduler/examine has the situations, the books and the promises without package testing.
package schedulertest
