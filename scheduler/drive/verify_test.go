package drive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/scheduler/fifo"
)

// make makes fifo and fair.
func makeTwo(policy, _ Named) (scheduler.Policy, scheduler.Admission, error) {
	switch policy.Name {
	case "":
		return nil, nil, nil
	case "fifo":
		return fifo.New(scheduler.DefaultReduceRule()), nil, nil
	case "fair":
		p, err := fair.New(fair.DefaultConfig())
		return p, nil, err
	}
	return nil, nil, errors.New("no policy " + policy.Name)
}

// logged is a log of two jobs on one machine of two containers, first under fifo and then under fair, as a file.
func logged(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	head, err := json.Marshal(Header{Version: FileVersion, State: scheduler.DefaultConfig(), Refill: true})
	if err != nil {
		t.Fatal(err)
	}
	b.Write(append(head, '\n'))
	c := verifier{make: makeTwo}
	first := Line{Kind: LinePolicies, Policy: Named{Name: "fifo"}}
	if err := c.policies(&Header{State: scheduler.DefaultConfig(), Refill: true}, &first); err != nil {
		t.Fatal(err)
	}
	c.d.cfg.Log = func(l *Line) {
		line, err := Encode(l)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	c.d.log(&first)
	if err := c.node(&Line{Name: "n0", Rack: "r0"}); err != nil {
		t.Fatal(err)
	}
	c.d.NodeKnown(0, 0)
	feed := func(at time.Duration, e scheduler.Event) {
		if err := c.d.Feed(at, e); err != nil {
			t.Fatal(err)
		}
	}
	round := func(at time.Duration) {
		if err := c.d.Round(at, Round{Parts: All}, func(Step) {}); err != nil {
			t.Fatal(err)
		}
	}
	feed(0, scheduler.NodeUp(0, scheduler.Capacity{Containers: 2}))
	feed(1, scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 6, User: "ann"}))
	feed(2, scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Maps: 6, User: "bob"}))
	round(3)
	for i := range int32(4) {
		if i == 2 {
			c.d.Announce(9, Named{Name: "fair"}, Named{})
			p, _, _ := makeTwo(Named{Name: "fair"}, Named{})
			c.d.SetPolicy(9, p)
		}
		feed(time.Duration(10+i), scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: i}, 0, 5, 1, 1))
		round(time.Duration(10 + i))
		if i == 2 {
			break
		}
	}
	return b.String()
}

// TestVerify: a log is found to be right, under policies that changed; a decision that is another, or was not taken, is named
// with its line; a log without its beginning is refused.
func TestVerify(t *testing.T) {
	log := logged(t)
	v, err := Verify(strings.NewReader(log), "log", makeTwo)
	if err != nil || v.Decisions < 5 || v.Lines != strings.Count(log, "\n")-1 {
		t.Fatalf("%+v, %v\n%s", v, err, log)
	}
	lines := strings.SplitAfter(log, "\n")
	for i, l := range lines {
		if !strings.Contains(l, `"Steps"`) {
			continue
		}
		changed := append([]string{}, lines...)
		changed[i] = strings.Replace(l, `"Index":`, `"Index":1`, 1)
		if changed[i] == l {
			continue
		}
		if _, err := Verify(strings.NewReader(strings.Join(changed, "")), "log", makeTwo); err == nil || !strings.Contains(err.Error(), "the log says") {
			t.Errorf("line %d with another task: %v", i+1, err)
		}
	}
	long := slices.Clone(lines)
	long[1] = strings.Replace(long[1], `"fifo"`, `"fifo","Params":{"x":"`+strings.Repeat("y", 1<<20)+`"}`, 1)
	if again, err := Verify(strings.NewReader(strings.Join(long, "")), "log", makeTwo); err != nil || again != v {
		t.Errorf("with a line of a mebibyte: %+v, %v", again, err)
	}
	if _, err := Verify(io.MultiReader(strings.NewReader(lines[0]), strings.NewReader(strings.Repeat("x", maxLine+1))), "log", makeTwo); !errors.Is(err, bufio.ErrTooLong) {
		t.Errorf("with a line that is too long: %v", err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":      {"", "is empty"},
		"no header":  {lines[1], "millrace_decisions"},
		"version":    {`{"millrace_decisions":9}`, "version 9"},
		"two rules":  {`{"millrace_decisions":3,"late":{},"lag":{}}`, "one rule"},
		"bad lag":    {`{"millrace_decisions":3,"lag":{"Cap":2}}`, "cap 2"},
		"no names":   {lines[0] + lines[2], "does not begin with the names"},
		"unknown":    {lines[0] + `{"Kind":3,"Policy":{"Name":"nosuch"}}`, "log:2: at 0s: no policy nosuch"},
		"forgotten":  {strings.Replace(lines[0], `"refill"`, `"lost":7,"refill"`, 1) + lines[1], "7 lines before"},
		"field":      {lines[0] + `{"Kind":3,"Colour":1}`, "Colour"},
		"kind":       {lines[0] + `{"Kind":9}`, "kind 9"},
		"no machine": {lines[0] + lines[1] + `{"Kind":1,"At":1,"Event":{"Kind":1,"Node":77}}`, "log:3"},
	} {
		if _, err := Verify(strings.NewReader(c.text), "log", makeTwo); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// file is the log of a rig whose first policies have these names.
func (r *rig) file(policy, admission Named) string {
	r.t.Helper()
	head, err := json.Marshal(HeaderOf(scheduler.DefaultConfig(), r.cfg))
	if err != nil {
		r.t.Fatal(err)
	}
	text := append(head, '\n')
	for _, l := range append([]Line{{Kind: LinePolicies, Policy: policy, Admission: admission}}, r.lines...) {
		line, err := Encode(&l)
		if err != nil {
			r.t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	return string(text)
}

// TestVerifyKnowsBothRules: second attempts by either rule are decided again from the file alone, and not without the rule.
func TestVerifyKnowsBothRules(t *testing.T) {
	oldestOnly := func(Named, Named) (scheduler.Policy, scheduler.Admission, error) { return &oldest{}, nil, nil }
	for name, c := range map[string]struct {
		rule Rule
		want string
	}{
		"late": {LATE{After: time.Second, Slower: 1.5, Share: 1}, "launch j1/map/3@0 second, launch j1/map/2@0 second"},
		"lag":  {Lag{After: time.Second, Behind: 0.2, Cap: 1}, "launch j1/map/3@0 second"},
	} {
		h := HeaderOf(scheduler.DefaultConfig(), Config{Seconds: c.rule, Refill: true, Spread: true})
		if back := h.Config(); back.Seconds != c.rule || !back.Refill || !back.Spread {
			t.Errorf("%s: the header gives %+v back", name, back)
		}
		r := slow(t, Config{Seconds: c.rule})
		r.want(All, c.want)
		text := r.file(Named{Name: "oldest"}, Named{})
		if _, err := Verify(strings.NewReader(text), name, oldestOnly); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		without := strings.Replace(text, `"`+name+`"`, `"none"`, 1)
		if _, err := Verify(strings.NewReader(without), name, oldestOnly); err == nil || !strings.Contains(err.Error(), "the log says") {
			t.Errorf("%s without its rule: %v", name, err)
		}
	}
}

// many are tasks and places that take the fuzzer's time.
var many = regexp.MustCompile(`(?i)"(maps|reduces|containers|mapslots|reduceslots|vcores|memorymb)"\s*:\s*[0-9]{4}`)

// TestFollow: who listens to a log that is replayed hears each of its lines, with reasons.
func TestFollow(t *testing.T) {
	var rounds, reasons int
	v, err := Follow(strings.NewReader(logged(t)), "log", makeTwo, func(d *Loop, l *Line) {
		if l.Kind == LineRound {
			rounds++
		}
		for _, s := range l.Steps {
			if s.Do == Launch && s.Reason.Text(d.View()) != "unspecified" {
				reasons++
			}
		}
	})
	if err != nil || rounds != v.Rounds || rounds == 0 || reasons == 0 {
		t.Errorf("heard %d rounds and %d reasons of %+v, %v", rounds, reasons, v, err)
	}
}

// FuzzVerify: no file makes the replay fall over.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(logged(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 1<<16 && !many.Match(data) {
			_, _ = Verify(bytes.NewReader(data), "f", makeTwo)
		}
	})
}
