// Package require is for tests that need something of the machine: a program, root, a small file system. Such a test
// is skipped, with the reason, if that is missing. But if the variable MILLRACE_REQUIRE, a comma-separated list,
// names what it needs, it fails, so that no test stops running unnoticed.
//
// Call [Tool], [Root], [Netns], [Tmpfs] or [Stress] at the beginning of the test.
package require
