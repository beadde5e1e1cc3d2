// Package console prints what commands show: the progress of a run as a bar on a terminal or as plain lines
// elsewhere, its closing summary, and numbers in a form that users read.
package console
