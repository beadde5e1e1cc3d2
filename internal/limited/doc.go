// Package limited lowers a program's resource limits before the program begins.
//
// A process may always lower its own limits. It may lower another's only if both have one user, or with the
// capability SYS_RESOURCE, and then too late: what the program has started by then has the old limits. A worker that
// may trace stops a program before it begins. Any other worker starts its own executable, as the program's user and
// with the arguments of [Args]. Before anything else in that process, this package lowers its limits and turns it
// into the program. A failure is reported through a pipe ([Read]), and the program does not run.
package limited
