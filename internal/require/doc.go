// Package require is for tests that need something of the machine: a program, root,
// a small file system. Such a test skips where it is missing, with the reason, unless
// the variable MILLRACE_REQUIRE, a comma list, names what it needs: then it fails,
// so that a test cannot stop running unnoticed.
//
// Call [Tool], [Root], [Netns], [Tmpfs] or [Stress] first thing in the test.
package require
