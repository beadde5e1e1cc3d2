package trace

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The golden file is read, means what it says, and is written again byte by byte.
func TestGoldenHistory(t *testing.T) {
	for _, name := range []string{"testdata/golden-v1.history", "testdata/golden-v2.history", "testdata/golden-v3.history", "testdata/golden-v4.history", "testdata/golden-v5.history"} {
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := ReadHistory(bytes.NewReader(old), "golden"); err != nil || len(h.Jobs) != 2 {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
	data, err := os.ReadFile("testdata/golden-v6.history")
	if err != nil {
		t.Fatal(err)
	}
	h, err := ReadHistory(bytes.NewReader(data), "golden")
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Jobs) != 2 || len(h.Attempts) != 4 || h.Origin.Policy != "fair" || h.Jobs[0].Deadline != 10*time.Second ||
		h.Jobs[0].Priority != 2 || h.Origin.Periods[1].Params["limits"] != "30" || h.Origin.Machines[0].Class != "fast" || h.Origin.Links[0].Up != 125e6 ||
		!h.Jobs[0].Recurring || h.Origin.Optical.Dark != 10*time.Millisecond || h.Origin.Machines[0].Speed != 0.5 || h.Origin.Second.Params["slower"] != "1.5" ||
		h.Jobs[0].Slowstart != 0.5 || h.Jobs[0].ReduceCost != 2 || *h.Jobs[0].Expect != (Expected{7, 8, 9, 10, 11}) || *h.Jobs[1].Expect != (Expected{}) {
		t.Errorf("read %+v", h)
	}
	if !h.Attempts[0].Lost || h.Attempts[1].Lost {
		t.Error("which attempt was lost is not kept")
	}
	var b bytes.Buffer
	if err := WriteHistory(&b, h); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(data), b.String()); d != "" {
		t.Error(d)
	}
}

func TestBadHistories(t *testing.T) {
	const head = `{"millrace_history":1}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":          {"", "no job"},
		"no version":     {`{"job":{"id":"a","submit_ns":1}}`, "h:1: malformed trace: the first line"},
		"version 7":      {`{"millrace_history":7}`, "version 7"},
		"expected":       {head + `{"job":{"id":"a","submit_ns":1,"expect":{"map_time_ns":-4}}}`, "-4 ns"},
		"expected bytes": {head + `{"job":{"id":"a","submit_ns":1,"expect":{"shuffle_bytes":-4}}}`, "-4 bytes"},
		"slow start":     {head + `{"job":{"id":"a","submit_ns":1,"slowstart":2}}`, "slow start 2"},
		"no rule":        {`{"millrace_history":5,"origin":{"second":{}}}`, "the rule of second attempts has no name"},
		"speed":          {`{"millrace_history":4,"origin":{"machines":[{"name":"a","rack":"r","room":1,"speed":-1}]}}`, "a speed of -1"},
		"all dark":       {`{"millrace_history":3,"origin":{"optical":{"rate":1e9,"interval_ns":1000,"dark_ns":1000}}}`, "the dark time is shorter"},
		"version 0":      {`{"millrace_history":0}`, "version 0"},
		"periods":        {`{"millrace_history":2,"origin":{"periods":[{"from_ns":2,"policy":"a"},{"from_ns":1,"policy":"b"}]}}`, "in order"},
		"no policy":      {`{"millrace_history":2,"origin":{"periods":[{"from_ns":2}]}}`, "have a policy"},
		"no machine":     {`{"millrace_history":2,"origin":{"machines":[{"rack":"r","room":1}]}}`, "must have a name"},
		"no rate":        {`{"millrace_history":2,"origin":{"links":[{"rack":"r","up":-1}]}}`, `rack "r"`},
		"priority":       {head + `{"job":{"id":"a","submit_ns":1,"priority":3}}`, "priority 3"},
		"not json":       {head + "job", "h:2"},
		"unknown field":  {head + `{"job":{"id":"a","submit_ns":1,"colour":1}}`, "colour"},
		"two objects":    {head + `{"job":{"id":"a","submit_ns":1}} {}`, "something follows"},
		"neither":        {head + `{}`, "neither"},
		"second head":    {head + head, "h:2: malformed trace: the header line stands twice"},
		"negative time":  {head + `{"job":{"id":"a","submit_ns":-1}}`, "-1 ns"},
		"negative bytes": {head + `{"job":{"id":"a","submit_ns":1,"input_bytes":-5}}`, "-5 bytes"},
		"ends early":     {head + `{"job":{"id":"a","submit_ns":5,"end_ns":4}}`, "before it is submitted"},
		"two of one id":  {head + strings.Repeat(`{"job":{"id":"a","submit_ns":1}}`+"\n", 2), `h:3: malformed trace: a second job "a"`},
		"state":          {head + `{"job":{"id":"a","submit_ns":5,"state":"well"}}`, `state "well"`},
		"kind":           {head + `{"attempt":{"job":"a","kind":"driver","index":0,"node":"n","start_ns":1,"end_ns":2}}`, `kind "driver"`},
		"backwards":      {head + `{"attempt":{"job":"a","kind":"map","index":0,"node":"n","start_ns":3,"end_ns":2}}`, "no time"},
		"no such job":    {head + `{"job":{"id":"a","submit_ns":1}}` + "\n" + `{"attempt":{"job":"b","kind":"map","index":0,"node":"n","start_ns":1,"end_ns":2}}`, `job "b"`},
		"no such task":   {head + `{"job":{"id":"a","submit_ns":1,"maps":1}}` + "\n" + `{"attempt":{"job":"a","kind":"map","index":1,"node":"n","start_ns":1,"end_ns":2}}`, "map 1"},
		"long line":      {head + strings.Repeat("x", maxLine+1), "longer"},
	} {
		_, err := ReadHistory(strings.NewReader(c.text), "h")
		if err == nil || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// A trace that becomes a history and a trace again is the same.
func TestHistoryOfTrace(t *testing.T) {
	jobs := []Job{{ID: "a", Submit: time.Second, InputBytes: 5}, {ID: "b", Submit: 2 * time.Second, ShuffleBytes: 6, OutputBytes: 7}}
	var b bytes.Buffer
	if err := WriteHistory(&b, HistoryOf(jobs)); err != nil {
		t.Fatal(err)
	}
	h, err := ReadHistory(&b, "h")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(jobs, h.Trace()); d != "" {
		t.Error(d)
	}
}

// What can be read can be written and read again, and is the same.
func FuzzReadHistory(f *testing.F) {
	for _, name := range []string{"testdata/golden-v1.history", "testdata/golden-v2.history", "testdata/golden-v3.history", "testdata/golden-v4.history", "testdata/golden-v5.history", "testdata/golden-v6.history"} {
		golden, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(golden)
	}
	f.Add([]byte(`{"millrace_history":1}` + "\n" + `{"job":{"id":"a","submit_ns":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHistory(bytes.NewReader(data), "f")
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("not a format error: %v", err)
			}
			return
		}
		var b bytes.Buffer
		if err := WriteHistory(&b, h); err != nil {
			t.Fatal(err)
		}
		again, err := ReadHistory(&b, "again")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(h, again); d != "" {
			t.Error(d)
		}
	})
}

func TestReadOrigin(t *testing.T) {
	var buf bytes.Buffer
	want := Origin{Source: "cluster", Nodes: 4, Racks: 2, Room: 12}
	if err := WriteHistory(&buf, &History{Origin: want}); err != nil {
		t.Fatal(err)
	}
	if got, ok := ReadOrigin(&buf); !ok || !cmp.Equal(got, want) {
		t.Errorf("origin %+v, %v", got, ok)
	}
	for _, text := range []string{"", "{}\n", "job0\t0\t1\n", "{\"millrace_history\":1}\n", strings.Repeat("x", 100_000)} {
		if at, ok := ReadOrigin(strings.NewReader(text)); ok {
			t.Errorf("%.20q: %+v", text, at)
		}
	}
}
