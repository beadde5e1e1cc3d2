package master

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// home makes a directory of a user, as /USER.
func home(t *testing.T, m *Master, user string) {
	t.Helper()
	_, err := m.names.Mkdir(wire.MkdirRequest{Path: "/" + user, User: "root"})
	if err == nil {
		_, err = m.names.SetRights(wire.SetRightsRequest{Path: "/" + user, User: "root", Owner: user, Mode: 0o755})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// put makes an empty file of a user.
func put(t *testing.T, m *Master, user, path string, mode int) {
	t.Helper()
	made, err := m.names.Create(wire.CreateRequest{Path: path, User: user, Holder: "test", Parents: true})
	if err == nil {
		_, err = m.names.Complete(wire.CompleteRequest{File: made.File.ID, Holder: "test"})
	}
	if err == nil {
		_, err = m.names.SetRights(wire.SetRightsRequest{Path: path, User: user, Mode: mode})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// describedJob describes a built-in job whose words are its input and its output.
func describedJob(p *wire.Program) (Program, error) {
	if p.Builtin != "copy" {
		return Program{}, errors.New("no such job")
	}
	return Program{Stages: 1, Inputs: p.Args[:1], Output: p.Args[1], Paths: p.Args, Shape: wire.Shape{SplitBytes: 64}}, nil
}

func copyJob(in, out string) wire.JobSpec {
	return wire.JobSpec{Name: "copy", Stages: 1, Program: wire.Program{Builtin: "copy", Args: []string{in, out}}}
}

// withSpec is a job with a change.
func withSpec(s wire.JobSpec, change func(s *wire.JobSpec)) wire.JobSpec {
	change(&s)
	return s
}

// TestWhatCannotWorkIsRefused: a job that the master can see to fail is refused when it comes, by its name, and is not kept.
func TestWhatCannotWorkIsRefused(t *testing.T) {
	m := served(t, func(c *Config) {
		c.Program, c.LocalPaths = describedJob, LocalPathsNone
		c.Queues = map[string]Queue{"default": {Submit: []string{"*"}}, "night": {Submit: []string{"bob"}, Admin: []string{"cat"}}}
	})
	home(t, m, "ann")
	home(t, m, "bob")
	put(t, m, "ann", "/ann/words", 0o644)
	put(t, m, "bob", "/bob/secret", 0o600)
	good := copyJob("dfs:/ann/words", "dfs:/ann/out")
	exe := wire.JobSpec{Name: "shipped", Stages: 1, Program: wire.Program{Exe: "/ann/words", Hash: strings.Repeat("ab", 32)}}
	for what, x := range map[string]struct {
		spec  wire.JobSpec
		kind  wire.Kind
		words string
	}{
		"an input that is not there":     {copyJob("dfs:/ann/wrods", "dfs:/ann/out"), wire.NotFound, "/ann/words"},
		"an input of another":            {copyJob("dfs:/bob/secret", "dfs:/ann/out"), wire.Denied, "the input dfs:/bob/secret"},
		"an output that is there":        {copyJob("dfs:/ann/words", "dfs:/ann/words"), wire.Exists, "--overwrite"},
		"an output in another's place":   {copyJob("dfs:/ann/words", "dfs:/bob/out"), wire.Denied, "dfs:/bob/out"},
		"a path of a worker's disk":      {copyJob("/etc/passwd", "dfs:/ann/out"), wire.Denied, "/etc/passwd"},
		"the same with a scheme":         {copyJob("dfs:/ann/words", "file:/tmp/out"), wire.Denied, "file:/tmp/out"},
		"a local path that it says":      {withSpec(exe, func(s *wire.JobSpec) { s.Inputs = []string{"/etc/passwd"} }), wire.Denied, "/etc/passwd"},
		"rights that it gives itself":    {withSpec(copyJob("/etc/passwd", "dfs:/ann/out"), func(s *wire.JobSpec) { s.Local = wire.LocalWorker }), wire.Denied, "/etc/passwd"},
		"a job that nobody knows":        {sleepJob("j"), wire.Invalid, "no such job"},
		"a chain of another length":      {withSpec(good, func(s *wire.JobSpec) { s.Stages = 2 }), wire.Invalid, "a chain of 1"},
		"another output than the job's":  {withSpec(good, func(s *wire.JobSpec) { s.Output = "dfs:/else" }), wire.Invalid, "dfs:/else"},
		"a side file that is not there":  {withSpec(good, func(s *wire.JobSpec) { s.Program.Files = []wire.Side{{Name: "stop", Path: "/stop"}} }), wire.NotFound, "the side file stop"},
		"a side file of another":         {withSpec(good, func(s *wire.JobSpec) { s.Program.Files = []wire.Side{{Name: "stop", Path: "/bob/secret"}} }), wire.Denied, "the side file stop"},
		"a program without a sum":        {withSpec(exe, func(s *wire.JobSpec) { s.Program.Hash = "abc" }), wire.Invalid, "SHA-256"},
		"a program that is not there":    {withSpec(exe, func(s *wire.JobSpec) { s.Program.Exe = "/ann/sword" }), wire.NotFound, "the program /ann/sword"},
		"a program of another":           {withSpec(exe, func(s *wire.JobSpec) { s.Program.Exe = "/bob/secret" }), wire.Denied, "the program /bob/secret"},
		"a queue that is not there":      {withSpec(good, func(s *wire.JobSpec) { s.Queue = "nigth" }), wire.Invalid, "night"},
		"a queue of others":              {withSpec(good, func(s *wire.JobSpec) { s.Queue = "night" }), wire.Denied, `"ann"`},
		"a description without an end":   {withSpec(good, func(s *wire.JobSpec) { s.Inputs = []string{strings.Repeat("x", maxSpec)} }), wire.TooLarge, "side file"},
		"an absurd number of tries":      {withSpec(good, func(s *wire.JobSpec) { s.Attempts = -1 }), wire.Invalid, "-1 attempts"},
		"no program at all":              {wire.JobSpec{Name: "j", Stages: 1}, wire.Invalid, "no program"},
		"a name without an end":          {withSpec(good, func(s *wire.JobSpec) { s.Name = strings.Repeat("n", 256) }), wire.Invalid, "256 bytes"},
		"the name of another, and queue": {withSpec(good, func(s *wire.JobSpec) { s.User, s.Queue = "bob", "night" }), wire.Denied, `"ann"`},
	} {
		_, err := call(t, m, ann, api.JobSubmit, x.spec)
		refusal(t, what, err, x.kind, x.words)
	}
	if list := must(t, m, ann, api.JobList, wire.JobsRequest{}); len(list) != 0 {
		t.Errorf("%d refused jobs were kept: %+v", len(list), list)
	}
	home(t, m, "cat")
	for c, queue := range map[rpc.Caller]string{ann: "", bob: "night", {User: "cat"}: "night"} {
		out := "dfs:/" + c.User + "/out"
		id := submitted(t, m, c, withSpec(copyJob("dfs:/ann/words", out), func(s *wire.JobSpec) { s.Queue = queue }))
		if s := must(t, m, c, api.JobStatus, wire.JobRequest{Job: id}); s.User != c.User || s.Queue != queue || s.Output != out {
			t.Errorf("%+v", s)
		}
	}
	if got := submitted(t, m, ann, exe); got == "" {
		t.Error("a program that is there was not taken")
	}
}

// TestRepeatedRequest: a client that submits again hears of its job although the output is there by now; another user's request
// of the same name is another.
func TestRepeatedRequest(t *testing.T) {
	m := served(t, func(c *Config) { c.Program = describedJob })
	home(t, m, "ann")
	put(t, m, "ann", "/ann/words", 0o644)
	spec := withSpec(copyJob("dfs:/ann/words", "dfs:/ann/out"), func(s *wire.JobSpec) { s.Request = "R" })
	id := submitted(t, m, ann, spec)
	put(t, m, "ann", "/ann/out/part-0", 0o644)
	if got := submitted(t, m, ann, spec); got != id {
		t.Errorf("%s and again %s", id, got)
	}
	_, err := call(t, m, bob, api.JobSubmit, spec)
	refusal(t, "the same request of another", err, wire.Denied, "user bob")
}

// TestInputIsForeseen: the master finds out how much a job reads, and how many maps make their own data, where it can.
func TestInputIsForeseen(t *testing.T) {
	m := served(t, func(c *Config) { c.Program = describedJob })
	home(t, m, "ann")
	put(t, m, "ann", "/ann/a", 0o644)
	for what, x := range map[string]struct {
		inputs []string
		size   int64
	}{
		"an empty file": {[]string{"dfs:/ann/a"}, 0}, "what is not there": {[]string{"dfs:/ann/a", "dfs:/no"}, 0}, "a pattern": {[]string{"dfs:/ann/*"}, 0},
	} {
		if got := m.sizeOf(x.inputs, "ann"); got != x.size {
			t.Errorf("%s: %d bytes", what, got)
		}
	}
	for what, x := range map[string]struct {
		inputs []string
		split  int64
		maps   int64
	}{
		"numbers":              {[]string{"count:/16", "count:/17"}, 64, 2 + 3},
		"no number":            {[]string{"count:/0"}, 64, 1},
		"files":                {[]string{"count:/16", "dfs:/ann/a"}, 64, 0},
		"no size of a split":   {[]string{"count:/16"}, 0, 0},
		"a negative size":      {[]string{"count:/16"}, -5, 0},
		"no input":             {nil, 64, 0},
		"more than fits a job": {[]string{"count:/9223372036854775807"}, 8, 1 << 50},
	} {
		if got := mapsOf(x.inputs, wire.Shape{SplitBytes: x.split}); got != x.maps {
			t.Errorf("%s: %d maps, want %d", what, got, x.maps)
		}
	}
}

// TestVeryManyMaps: whatever is asked for, the number of maps stays one.
func TestVeryManyMaps(t *testing.T) {
	many := make([]string, 1500)
	for i := range many {
		many[i] = "count:/9223372036854775807"
	}
	if got := mapsOf(many, wire.Shape{SplitBytes: 1}); got < math.MaxInt32 {
		t.Errorf("very many numbers make %d maps", got)
	}
}

// TestDescribe: of a chain of jobs the master knows what the first reads and how its input is cut, what the last writes, and all paths between.
func TestDescribe(t *testing.T) {
	got := Describe([]mapreduce.Job{
		{Inputs: []mapreduce.Input{{Paths: []string{"dfs:/a", "dfs:/b"}}, {Paths: []string{"dfs:/c"}}}, Output: "dfs:/mid", SplitBytes: 7, Reducers: 3},
		{Input: []string{"dfs:/mid", "dfs:/d"}, Output: "dfs:/out", SplitBytes: 9, MapOnly: true},
	})
	want := Program{
		Stages: 2, Inputs: []string{"dfs:/a", "dfs:/b", "dfs:/c"}, Output: "dfs:/out", Shape: wire.Shape{SplitBytes: 7, Reducers: 3},
		Paths: []string{"dfs:/a", "dfs:/b", "dfs:/c", "dfs:/mid", "dfs:/mid", "dfs:/d", "dfs:/out"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestWhatIsExpected: what a job says that it will read stands; what it does not say the master finds out.
func TestWhatIsExpected(t *testing.T) {
	m := served(t, func(c *Config) { c.Program, c.Jobs.MaxTasks = describedJob, 1000 })
	home(t, m, "ann")
	for name, n := range map[string]int64{"a": 300, "b": 50} {
		write(t, m, "ann", "/ann/"+name, n)
	}
	if got := m.sizeOf([]string{"dfs:/ann/a", "dfs:/ann/b"}, "ann"); got != 350 {
		t.Errorf("two files of 300 and 50 bytes have %d", got)
	}
	for what, x := range map[string]struct {
		in          string
		says        wire.Expected
		bytes, maps int64
	}{
		"nothing is said":       {"dfs:/ann/a", wire.Expected{}, 300, 0},
		"the bytes are said":    {"dfs:/ann/a", wire.Expected{Input: 7}, 7, 0},
		"numbers":               {"count:/16", wire.Expected{}, 0, 2},
		"numbers, and the maps": {"count:/16", wire.Expected{Maps: 5}, 0, 5},
		"more than a job has":   {"count:/1000000", wire.Expected{}, 0, 1000},
	} {
		spec := withSpec(copyJob(x.in, "dfs:/ann/out"), func(s *wire.JobSpec) { s.Expect = x.says })
		known, err := m.describe(&spec)
		if err != nil || len(known.Inputs) != 1 || known.Inputs[0] != x.in || spec.Expect.Input != x.bytes || int64(spec.Expect.Maps) != x.maps || spec.Output != "dfs:/ann/out" {
			t.Errorf("%s: %+v, output %s, %v", what, spec.Expect, spec.Output, err)
		}
	}
}

// write makes a file of a user that has as many bytes, which no node holds.
func write(t *testing.T, m *Master, user, path string, n int64) {
	t.Helper()
	if _, err := m.names.Register(wire.RegisterRequest{Node: "w1", Rack: "r1", Addr: "127.0.0.1:1", Volumes: []wire.Volume{{ID: "v", Total: 1 << 40, Free: 1 << 40}}}); err != nil {
		t.Fatal(err)
	}
	made, err := m.names.Create(wire.CreateRequest{Path: path, User: user, Holder: "test", Replication: 1})
	if err != nil {
		t.Fatal(err)
	}
	added, err := m.names.AddBlock(wire.AddBlockRequest{File: made.File.ID, Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	b := added.Block
	b.Len = n
	if _, err := m.names.Complete(wire.CompleteRequest{File: made.File.ID, Holder: "test", Last: &b, Stored: []wire.NodeName{"w1"}}); err != nil && wire.KindOf(err) != wire.Unavailable {
		t.Fatal(err)
	}
}

// TestNodesSubmitForUsers: a node hands in the job of a user, and as itself where it names nobody; a user is who the certificate says.
func TestNodesSubmitForUsers(t *testing.T) {
	m := served(t, withKey(t), func(c *Config) { c.Queues = map[string]Queue{"default": {Submit: []string{"ann", "bob"}}} })
	spec := withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.User = "ann" })
	for c, want := range map[rpc.Caller]string{{Node: "w1"}: "ann", bob: "bob"} {
		if s := must(t, m, c, api.JobStatus, wire.JobRequest{Job: submitted(t, m, c, spec)}); s.User != want {
			t.Errorf("%+v submits for %s", c, s.User)
		}
	}
	_, err := call(t, m, rpc.Caller{Node: "w1"}, api.JobSubmit, sleepJob("j"))
	refusal(t, "a node in nobody's name", err, wire.Denied, `user ""`)
	open := served(t, func(c *Config) { c.Queues = map[string]Queue{"default": {Submit: []string{"ann"}}} })
	_, err = call(t, open, admin, api.JobSubmit, sleepJob("j")) // without a key everybody says so
	refusal(t, "an administrator without a key", err, wire.Denied, `user "root" may not submit to queue "default"`)
	_, err = call(t, open, ann, api.JobSubmit, withSpec(sleepJob("j"), func(s *wire.JobSpec) { s.Queue = "defualt" }))
	refusal(t, "a queue that is not there", err, wire.Invalid, "default")
}
