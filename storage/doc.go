// Package storage is the seam between jobs and the places that hold files.
//
// An [FS] is one store: the local disk here; the replicated block store and others have packages of their own. A
// [Mux] chooses the store by the scheme of a path: "dfs:/logs/a", "file:/tmp/b". A path without a scheme is on the
// local disk. A path names its store's authority where a store has one: "hdfs://name/logs/a" is "/logs/a" of the store
// that [Mux.Sites] finds for "name", and what is found below it is named "hdfs://name/...", as its user wrote it.
//
// Output becomes visible by rename: write under a hidden name, then [FS.Rename]. Names that start with a dot or an
// underscore are hidden: [Expand] skips them when it walks directories and patterns.
package storage
