package require

import (
	"fmt"
	"strings"
	"testing"
)

// fake records how a test would have ended. A real Skip or Fatal ends the goroutine;
// the panic stands for that.
type fake struct {
	testing.TB
	ended string
}

func (*fake) Helper() {}

func (f *fake) Skipf(format string, args ...any) {
	f.ended = "skip: " + fmt.Sprintf(format, args...)
	panic(f)
}

func (f *fake) Skip(args ...any) {
	f.ended = "skip: " + fmt.Sprint(args...)
	panic(f)
}

func (f *fake) Fatalf(format string, args ...any) {
	f.ended = "fail: " + fmt.Sprintf(format, args...)
	panic(f)
}

// outcome runs need against a fake test.
func outcome(need func(testing.TB)) (ended string) {
	f := &fake{}
	defer func() {
		if p := recover(); p != nil && p != any(f) {
			panic(p)
		}
		ended = f.ended
	}()
	need(f)
	return f.ended
}

func TestMissingToolSkipsUnlessRequired(t *testing.T) {
	const name = "millrace-no-such-program"
	need := func(tb testing.TB) { Tool(tb, name) }

	t.Setenv(Env, "mawk,python3")
	if got := outcome(need); !strings.HasPrefix(got, "skip: ") || !strings.Contains(got, name) {
		t.Errorf("missing and not required: %q, want a skip that names it", got)
	}
	t.Setenv(Env, "mawk, "+name+" ,root")
	if got := outcome(need); !strings.HasPrefix(got, "fail: ") || !strings.Contains(got, name) {
		t.Errorf("missing and required: %q, want a failure that names it", got)
	}
}

func TestPresentToolIsFound(t *testing.T) {
	var path string
	if got := outcome(func(tb testing.TB) { path = Tool(tb, "sh") }); got != "" || path == "" {
		t.Errorf("sh: %q, path %q", got, path)
	}
}

func TestStressNeedsTheVariable(t *testing.T) {
	t.Setenv("MILLRACE_STRESS", "")
	if got := outcome(Stress); !strings.HasPrefix(got, "skip: ") {
		t.Errorf("without the variable: %q, want a skip", got)
	}
	t.Setenv("MILLRACE_STRESS", "1")
	if got := outcome(Stress); got != "" {
		t.Errorf("with the variable: %q, want to run", got)
	}
}

func TestRequired(t *testing.T) {
	for _, c := range []struct {
		list string
		want bool
	}{{"", false}, {"root", true}, {"rooted", false}, {"mawk,root", true}, {" root , mawk", true}} {
		if got := Required("root", c.list); got != c.want {
			t.Errorf("Required(root, %q) = %v", c.list, got)
		}
	}
}

func TestTmpfsIsSmall(t *testing.T) {
	dir := Tmpfs(t, "size=1m")
	if dir == "" {
		t.Fatal("no directory")
	}
}
