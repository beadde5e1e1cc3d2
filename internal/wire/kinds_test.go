package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestKindsSurviveWrappingAndTheWire(t *testing.T) {
	err := fmt.Errorf("stat: %w", Errorf(NotFound, "no file %q", "/a"))
	sent, e := json.Marshal(ToError(err))
	if e != nil {
		t.Fatal(e)
	}
	got := &Error{}
	if e := json.Unmarshal(sent, got); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(got, NotFound) || !errors.Is(got, fs.ErrNotExist) || errors.Is(got, Exists) {
		t.Errorf("%v came back as %s", err, sent)
	}
	if want := `stat: no file "/a"`; got.Error() != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

// TestErrorsAreShortOnTheWire: an error that quotes what it was asked is not as long as that.
func TestErrorsAreShortOnTheWire(t *testing.T) {
	got := ToError(Errorf(Invalid, "%q is no job's id (they look like job-12)", strings.Repeat("x", 3<<20)))
	if len(got.Text) > MaxText || got.Kind != Invalid || !strings.HasSuffix(got.Text, "(they look like job-12)") {
		t.Errorf("%d bytes of kind %v", len(got.Text), got.Kind)
	}
}

func TestKindOf(t *testing.T) {
	for err, want := range map[error]Kind{
		fs.ErrExist:                                NotFound + 1,
		fmt.Errorf("x: %w", context.Canceled):      Canceled,
		context.DeadlineExceeded:                   Unavailable,
		errors.New("?"):                            Internal,
		fmt.Errorf("y: %w", Errorf(Quota, "full")): Quota,
		Corrupt: Corrupt,
	} {
		if got := KindOf(err); got != want {
			t.Errorf("KindOf(%v) = %v, want %v", err, got, want)
		}
	}
	for _, k := range []Kind{numKinds, 200} {
		if want := fmt.Sprintf("kind %d", uint8(k)); k.Error() != want {
			t.Errorf("%s, want %s", k.Error(), want)
		}
	}
}

// TestKindsMatchFiles: code that was written for files and contexts understands the kinds that stand for their errors, and no other.
func TestKindsMatchFiles(t *testing.T) {
	same := map[Kind]error{NotFound: fs.ErrNotExist, Exists: fs.ErrExist, Denied: fs.ErrPermission, Canceled: context.Canceled}
	for k := range numKinds {
		for of, target := range same {
			if got := errors.Is(Errorf(k, "x"), target); got != (k == of) {
				t.Errorf("%v is %v: %t", k, target, got)
			}
		}
		if k.Retryable() != (k == Unavailable) {
			t.Errorf("%v may succeed later: %t", k, k.Retryable())
		}
		if other := Kind(200); errors.Is(k, other) || k.Error() == "" {
			t.Errorf("%v is %v", k, other)
		}
	}
	for of, target := range same {
		if got := KindOf(fmt.Errorf("open: %w", target)); got != of {
			t.Errorf("%v is of kind %v, want %v", target, got, of)
		}
	}
}

// TestErrorsCrossOnce: an error that has its form keeps it; one that is wrapped keeps all of its text.
func TestErrorsCrossOnce(t *testing.T) {
	inner := &Error{Quota, "full"}
	if got := ToError(inner); *got != *inner {
		t.Errorf("%v became %v", inner, got)
	}
	if got := ToError(fmt.Errorf("put /a: %w", inner)); got.Kind != Quota || got.Text != "put /a: full" {
		t.Errorf("wrapped it became %+v", got)
	}
}
