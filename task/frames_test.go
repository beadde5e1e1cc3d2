package task

import (
	"strings"
	"testing"
)

// TestUserFrames: of the stack of a panic a user sees the frames of the user's own code.
func TestUserFrames(t *testing.T) {
	const head = "goroutine 7 [running]:\n"
	frame := func(name string) string {
		return name + "(0x1, {0x2, 0x3})\n\t/src/" + name[strings.LastIndex(name, "/")+1:] + ".go:12 +0x1d\n"
	}
	frames := func(names ...string) (out string) {
		for _, n := range names {
			out += frame(n)
		}
		return out
	}
	const task, typed = engine + "task.(*attempt).guard.func1", engine + "mapreduce.mapper[...].Map"
	for name, c := range map[string]struct{ stack, want string }{
		"panic": {
			head + frames("runtime/debug.Stack", task) + "panic({0x1?, 0x2?})\n\t/go/panic.go:1\n" + frames("main.parse", "main.count", typed, task, "runtime.goexit"),
			head + frames("main.parse", "main.count"),
		},
		"index out of range": {
			head + frames("runtime/debug.Stack", task) + "panic({0x1?, 0x2?})\n\t/go/panic.go:1\n" + frames("runtime.goPanicIndex", "main.count", task),
			head + frames("main.count"),
		},
		"panic again while it ends": {
			head + frames(task) + "panic({0x1?, 0x2?})\n\t/go/panic.go:1\n" + frames("main.closes") + "panic({0x1?, 0x2?})\n\t/go/panic.go:1\n" + frames("main.first", task),
			head + frames("main.first"),
		},
		"Goexit":         {head + frames(task, "runtime.Goexit", "testing.(*common).FailNow", "main.count", task), head + frames("testing.(*common).FailNow", "main.count")},
		"only engine":    {head + frames(task) + "panic(1)\n\t/go/panic.go:1\n" + frames(typed, task), ""},
		"engine's names": {head + "panic(1)\n\t/go/panic.go:1\n" + frames(engine+"examples/wordcount.count", engine+"tasks.mine", task), head + frames(engine+"examples/wordcount.count", engine+"tasks.mine")},
		"cut off":        {head + "panic(1)\n", ""},
		"empty":          {"", ""},
	} {
		want := c.want
		if want == "" {
			want = c.stack
		}
		if got := userFrames(c.stack); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}
