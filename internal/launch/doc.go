// Package launch runs a chain of jobs, in this process or on a cluster, for programs and for the command alike: it
// checks the configuration, shows the progress, and reports how the run ended.
//
// The caller parses its own flags, calls New, whose errors are mistakes of usage, and then Do. Code turns the error
// of Do into an exit code.
package launch
