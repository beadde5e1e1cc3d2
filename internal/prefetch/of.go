// Package prefetch asks memory for what will be read soon.
package prefetch

import "unsafe"

// Of asks for the first bytes of a value.
func Of[T any](p *T) { At((*byte)(unsafe.Pointer(p))) }
