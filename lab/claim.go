package lab

// A Claim is the kind of statement that a source makes in a row. It bounds the verdict: no measurement proves more than
// was stated.
type Claim string

// The claims.
const (
	numberClaim  Claim = "number"  // the source prints a number, a bound, or that nothing changes
	orderClaim   Claim = "order"   // the source names several in order, or says that something happens, and just that is checked
	signClaim    Claim = "sign"    // the source says which way it goes, or how much in words
	nobodyClaim  Claim = "nobody"  // no source says it: our specification derives or expects it
	targetClaim  Claim = "target"  // no source says it: it is a mark for a run
	nothingClaim Claim = "nothing" // whatever was said, nothing is judged
)

// Said is what a source says, and what kind of statement that is. Number, Order, Sign, Nobody and Target make one.
type Said struct {
	text  string
	claim Claim
}

// Number is a number that the source prints, a bound that it gives, or that nothing changes. Such a row is reproduced
// if the value is accepted.
func Number(text string) Said { return Said{text, numberClaim} }

// Order is an order of several that the source names, or something that it says happens. Such a row is reproduced if
// exactly that is found, and otherwise not reproduced, whichever comes first.
func Order(text string) Said { return Said{text, orderClaim} }

// Sign is the direction of something, or its amount in words: any bound for it is ours. Such a row shows a direction,
// never more.
func Sign(text string) Said { return Said{text, signClaim} }

// Nobody is what no source says: our specification derives or expects it. Such a row is of shape only.
func Nobody(text string) Said { return Said{text, nobodyClaim} }

// Target is a mark of ours for a run, such as how far simulator and cluster may differ.
func Target(text string) Said { return Said{text, targetClaim} }

// grade returns the verdict of a row: ok says that the measurement is accepted, way that at least the order or the sign
// is as published.
func (c Claim) grade(ok, way bool) Verdict {
	switch {
	case c == nobodyClaim || c == nothingClaim:
		return ShapeOnly
	case ok && c != signClaim:
		return Reproduced
	case ok, way && c != orderClaim: // a broken order is no direction
		return Direction
	}
	return NotReproduced
}

// note explains why a row cannot have a better verdict.
func (c Claim) note(ok bool) string {
	switch {
	case c == signClaim && ok:
		return "published without a value: only the direction can agree"
	case c == nobodyClaim && ok:
		return "nobody published it; our specification expects it, and it holds"
	case c == nobodyClaim:
		return "nobody published it; our specification expects it, and it does not hold"
	}
	return ""
}
