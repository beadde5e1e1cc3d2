package cli

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const threeJobs = `jobs:
  - {name: a, run: sleep, args: [--maps, 1], output: "dfs:/a", recurring: true}
  - name: b
    run: wordcount
    input: ["dfs:/a", "dfs:/x"]
    output: dfs:/b
    overwrite: true
    after: [a]
  - {name: c, run: sort, input: ["dfs:/b"], output: "dfs:/c", after: [a, b], recurring: true, at: 90s}
`

// TestBatch: jobs are as millrace run would submit them, and know which come before.
func TestBatch(t *testing.T) {
	list, err := parseBatch("b.yaml", []byte(threeJobs))
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if s := list[0].spec; !s.Recurring || s.Name != "a" || s.Output != "dfs:/a" || s.Program.Builtin != "sleep" {
		t.Errorf("%+v", s)
	}
	if s := list[1].spec; !slices.Equal(s.Inputs, []string{"dfs:/a", "dfs:/x"}) || !s.Overwrite || s.Recurring {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(list[2].after, []int{0, 1}) || list[0].after != nil {
		t.Errorf("%v, %v", list[2].after, list[0].after)
	}
	if told := recurring(list); list[2].at != 90*time.Second || len(told) != 2 || told[0].Expect.InMillis != 0 || told[1].Expect.InMillis != 90_000 {
		t.Errorf("c comes after %v and is announced as %+v", list[2].at, told)
	}
}

// TestBadBatches: what cannot be is refused with its line.
func TestBadBatches(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"jobs: []\n", "0 jobs"},
		{"jobs:\n- {name: a, run: nothing, output: x}\n", `b.yaml:2: job "a": `},
		{"jobs:\n- {run: sleep, output: x}\n", "it needs a name"},
		{"jobs:\n- {name: a, run: sleep}\n", "it needs an output"},
		{"jobs:\n- {name: a, run: sleep, output: x}\n- {name: a, run: sleep, output: y}\n", `b.yaml:3: job "a": two jobs`},
		{"jobs:\n- name: a\n  run: sleep\n  output: x\n  after:\n  - b\n", `b.yaml:6: job "a" comes after "b"`},
		{"jobs:\n- {name: a, run: sleep, output: x}\n- {name: b, run: sleep, output: x, after: [d]}\n- {name: c, run: sleep, output: x, after: [b]}\n- {name: d, run: sleep, output: x, after: [c]}\n", "b.yaml:3: the jobs b, d, c wait for each other"},
		{"jobs:\n- {name: a, run: sleep, output: x, after: [a]}\n", "b.yaml:2: the jobs a wait for each other"},
		{"jobs:\n- {name: a, run: sleep, output: x, args: [--expect-shuffle, -5]}\n", "b.yaml:2: "},
		{"jobs:\n- {name: a, run: sleep, output: x, args: [--expect-shuffle, \"1000000000000000000\"]}\n", "must be in 0..2^56"},
		{"jobs:\n- {name: a, run: sleep, output: x, args: [--name, b]}\n", `its args name it "b"`},
		{"jobs:\n- {name: a, run: sleep, output: x}\n- {name: b, run: sleep, output: y, at: noon}\n", `b.yaml:3: job "b": at: "noon" is no time`},
		{"jobs:\n- {name: a, run: sleep, output: x, at: -1s}\n", `at: "-1s" is no time from 0s to 24h`},
		{"jobs:\n- {name: a, run: sleep, output: x, at: 25h}\n", `at: "25h" is no time`},
		{"jobs:\n- {name: a, ran: sleep}\n", `unknown field "ran"`},
		{"jobs:\n- {name: a, run: sleep, output: \"dfs:/x\"}\n- {name: b, run: sleep, output: y}\n- {name: c, run: sleep, output: \"dfs://x/\", after: [a]}\n", `b.yaml:4: job "c" writes to "dfs://x/", as job "a" of line 2 does`},
	} {
		if _, err := parseBatch("b.yaml", []byte(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.file, err, tt.want)
		}
	}
}

// TestOneOutput: of jobs that write to one place at most one may do so without overwriting, and the others come after it.
func TestOneOutput(t *testing.T) {
	const plain, over = `output: x}`, `output: x, overwrite: true}`
	for _, tt := range []struct {
		jobs string
		ok   bool
	}{
		{"a, " + plain + "\n{name: b, " + plain, false},
		{"a, " + plain + "\n{name: b, after: [a], " + plain, false},
		{"a, " + plain + "\n{name: b, " + over, false},
		{"a, " + plain + "\n{name: b, after: [a], " + over, true},
		{"a, " + over + "\n{name: b, after: [a], " + plain, false},
		{"a, after: [b], " + over + "\n{name: b, " + plain, true},
		{"a, " + over + "\n{name: b, at: 10m, " + over, true},
		{"a, " + plain + "\n{name: b, after: [a], output: y}\n{name: c, after: [b], " + over, true},
		{"a, " + plain + "\n{name: b, after: [a], " + over + "\n{name: c, " + over, false},
		{"a, output: x/y}\n{name: b, output: x}\n{name: c, output: dfs:x}", true},
	} {
		file := "jobs:\n- {run: sleep, name: " + strings.ReplaceAll(tt.jobs, "\n{", "\n- {run: sleep, ") + "\n"
		if _, err := parseBatch("b.yaml", []byte(file)); err == nil != tt.ok {
			t.Errorf("%s%v", file, err)
		}
	}
}

// FuzzBatch: no file makes the command crash, and what is taken can be brought into an order.
func FuzzBatch(f *testing.F) {
	f.Add([]byte(threeJobs))
	f.Add([]byte("jobs: [{name: a, run: sleep, output: x, after: [a, a]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseBatch("b.yaml", data)
		if err != nil {
			return
		}
		w := workflow{jobs: list}
		for left := len(list); left > 0; { // as if each succeeded at once
			before := left
			for i := range list {
				if j := &list[i]; !j.ended && w.free(j) {
					j.ended, j.status.State = true, "SUCCEEDED"
					left--
				}
			}
			if left == before {
				t.Fatalf("%d jobs wait for ever", left)
			}
		}
	})
}
