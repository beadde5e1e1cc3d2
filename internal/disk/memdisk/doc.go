// Package memdisk is a disk in memory for tests: it can lose power, fail and fill up.
//
// Beside what a program sees, an [FS] remembers what a real disk would certainly hold: file content that was synced,
// and names whose directory was synced after the change. [FS.Crash] returns one of the disks that a power cut could
// leave: what was not synced is there, gone or torn, at random. A rename has happened or not, never half.
// [FS.SetFail] makes single operations fail, [FS.SetLimit] makes the disk small.
//
// A failed Sync drops what it should have written, as real kernels do: the program still reads it, but the disk will
// never have it, and a second Sync reports no error.
package memdisk
