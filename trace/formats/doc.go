// Package formats reads and writes the job logs of other systems, as a [trace.History].
//
// A [Format] is recognised by the beginning of a file. docs/traces.md says for each what becomes of its fields and what is lost.
// What a file claims is checked: an error names file, line and reason. A line or an object is at most 64 MiB long, a file has at
// most [trace.MaxBuilt] attempts.
package formats
