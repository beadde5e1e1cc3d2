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
	if Kind(200).Error() != "kind 200" {
		t.Error(Kind(200).Error())
	}
}
