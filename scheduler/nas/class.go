package nas

// A Class says how much a job shuffles (spec/nas 3.2). Larger is more.
type Class uint8

// The classes.
const (
	Light Class = iota
	Medium
	Heavy
)

// String returns "shuffle-light", "shuffle-medium" or "shuffle-heavy".
func (c Class) String() string {
	return [...]string{"shuffle-light", "shuffle-medium", "shuffle-heavy"}[min(c, Heavy)]
}

// A Classes holds the limits between the classes, in bytes.
type Classes struct {
	// Light is the shuffle from which a job is medium. Published 1 MB, which is
	// 2^20 bytes: only then does the trace give the published mix (spec/nas 3.2).
	Light int64
	// Heavy is the shuffle above which a job is heavy. Published 100 MB.
	Heavy int64
	// SmallInput is the input from which a job is large. Published 10 MB.
	SmallInput int64
}

// DefaultClasses returns the published limits.
func DefaultClasses() Classes { return Classes{Light: 1 << 20, Heavy: 100 << 20, SmallInput: 10 << 20} }

// Of returns the class of a job that shuffles this many bytes.
func (c *Classes) Of(shuffle float64) Class {
	switch {
	case shuffle < float64(c.Light):
		return Light
	case shuffle <= float64(c.Heavy):
		return Medium
	}
	return Heavy
}

// Small reports whether a job with this input is a small-input one.
func (c *Classes) Small(input float64) bool { return input < float64(c.SmallInput) }
