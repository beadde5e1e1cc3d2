package names

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// A node that nobody has is refused with the name that was meant.
func TestDrainOfAMistypedNode(t *testing.T) {
	r := newRig(t)
	r.open()
	for _, n := range []wire.NodeName{"east-1", "west-1"} {
		r.addNode(n, "r", 1<<30)
	}
	_, err := r.s.Drain(wire.DrainRequest{Node: "wesst-1"})
	if wire.KindOf(err) != wire.NotFound || !strings.Contains(err.Error(), "did you mean west-1?") {
		t.Errorf("%v, want the name of the other", err)
	}
}
