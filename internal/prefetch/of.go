// Package prefetch loads into the cache what will be read soon.
package prefetch

import "unsafe"

// Of prefetches the first bytes of a value.
func Of[T any](p *T) { At((*byte)(unsafe.Pointer(p))) }
