// Package memdisk is a disk in memory for tests: it can lose power, fail and fill up.
//
// An [FS] remembers beside what a program sees what a real disk would be sure to hold:
// file content that was synced, and names whose directory was synced after the change.
// [FS.Crash] gives one of the many disks that a power cut could leave behind: what was
// not synced is there, gone or torn, as the random source says. A rename has happened
// or not, never half. [FS.SetFail] makes single operations fail, [FS.SetLimit] makes the
// disk small.
//
// A failed Sync drops what it should have written, as real kernels do: the program
// still reads it, the disk will never have it, and a second Sync says nothing.
package memdisk
