// Package storage is the seam between jobs and the places that hold files.
//
// An [FS] is one store: the local disk here, the replicated block store and others
// in packages of their own. A [Mux] picks the store by the scheme of a path:
// "dfs:/logs/a", "file:/tmp/b"; a path without a scheme is on the local disk.
//
// Output is made visible by rename: write under a hidden name, then [FS.Rename].
// Names that start with a dot or an underscore are hidden: [Expand] leaves them out
// when it walks directories and patterns.
package storage
