//go:build race

package membership

// raced tells that the race detector watches: tests do less, because much more makes it fail by itself now and then.
const raced = true
