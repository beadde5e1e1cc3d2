// Package lint holds tests that read the source of the whole module and check the
// rules that no compiler checks: which package may import which, what pure packages may
// not do, one package comment each. The tests parse files in this process, so that
// the test cache notices every change.
package lint
