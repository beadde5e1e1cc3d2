// Package mutants is a list of planted bugs. Each is a patch in this folder that breaks one promise of
// the system; above the patch stand what it breaks and the test that must notice. The tests of
// this package check that every patch still applies; with MILLRACE_MUTANTS=1, as in CI, also that it
// compiles, and plant a few; with MILLRACE_STRESS=1 (make mutants) they plant them all, one after the other. A bug that no test
// notices is an error: not of the code, but of its tests.
//
// To make a patch: change the file, write "git diff -U1" behind the three lines, and change the file back.
// One line of context is enough, and lets the code around it move. To plant one by hand:
//
//	go test ./integration/mutants -run Caught -v -mutants.only=NAME
//
// A patch does not touch the files themselves: the go command reads the changed ones from an
// overlay, in the tests' own builds too.
package mutants
