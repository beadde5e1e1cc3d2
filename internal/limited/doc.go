// Package limited lowers what a program may take of the machine before the program begins.
//
// A process may always lower its own limits. Another's limits it may lower only if both have one user, or with the
// capability SYS_RESOURCE, and then too late: what the program has started by then has the old ones. A worker that may trace
// stops a program before it begins; any other starts itself anew, as the program's user and with the words of [Args]; this
// package, before anything else of the executable, lowers the limits of that process and turns it into the program. What fails
// is told through a pipe ([Read]), and the program does not run.
package limited
