package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/topology"
)

const twoClasses = `racks: 2
classes:
  - name: scale-up
    count: 1
    racks: [r1]
    containers: 4
  - {name: scale-out, count: 3, racks: [r2], speed: 0.5, vcores: 2, container-memory: 2048, memory: 64MiB}
links: {uplink: 100Mb/s, racks: {r2: {uplink: 50Mb/s}}, optical: {rate: 1Gb/s, dark: 20ms}}
policy: hybrid
params: {scale: 0.001}
placement: two-plus-one
`

// TestDescribedCluster: each machine gets the flags of its class and a rack of its own choice.
func TestDescribedCluster(t *testing.T) {
	d, err := parseDescription("c.yaml", []byte(twoClasses))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"w1 r1 --class scale-up --memory 256MiB --containers 4",
		"w2 r2 --class scale-out --memory 64MiB --vcores 2 --container-memory 2048 --speed 0.5",
		"w3 r2 --class scale-out --memory 64MiB --vcores 2 --container-memory 2048 --speed 0.5",
		"w4 r2 --class scale-out --memory 64MiB --vcores 2 --container-memory 2048 --speed 0.5",
	}
	var got []string
	for _, w := range d.workers() {
		got = append(got, w.name+" "+w.rack+" "+strings.Join(w.flags, " "))
	}
	if !slices.Equal(got, want) {
		t.Errorf("workers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := strings.Join(d.masters(), " "), "--policy hybrid --admission marp --placement two-plus-one --param scale=0.001"; got != want {
		t.Errorf("the master gets %s, want %s", got, want)
	}
	file, err := d.writeLinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	links, err := readLinks(file)
	if err != nil || links.Rack("r1").Uplink != 12.5e6 || links.Rack("r2").Uplink != 6.25e6 {
		t.Errorf("%+v, %v", links, err)
	}
	if got, want := links.Optical, (topology.OCS{Rate: 125e6, Interval: time.Second, Reconfig: 20 * time.Millisecond, Threshold: 22_500_000}); got != want {
		t.Errorf("an optical switch %+v, want %+v", got, want)
	}
}

// TestBadDescriptions: what cannot be is refused with its line and what would do.
func TestBadDescriptions(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"policy: fair\n", "c.yaml:1: classes: 0 machines"},
		{"racks: 3\nclasses:\n- {count: 2}\n", "c.yaml:1: racks: 3 racks for 2 machines"},
		{"classes:\n- {count: 2}\n- name: x\n  count: 0\n", `c.yaml:4: classes[1].count: class "x" has 0 machines`},
		{"racks: 2\nclasses:\n- count: 0\n", `c.yaml:3: classes[0].count: class "" has 0 machines`},
		{"racks: 2\nclasses:\n- name: x\n  count: -2\n", `c.yaml:4: classes[0].count: class "x" has -2 machines`},
		{"racks: 0\nclasses:\n- {count: 1, racks: [r1]}\n", "c.yaml:1: racks: 0 racks for 1 machine: there"},
		{"classes:\n- {count: 2}\n- {count: 1}\n", "c.yaml:3: classes[1].name: two classes are called"},
		{"classes:\n- name: x\n  count: 2\n- name: x\n  count: 1\n", "c.yaml:4: classes[1].name: two classes are called"},
		{"policy: capacity\nclasses:\n- {count: 2}\nparams:\n  queues: a=1\n", "c.yaml:5: params.queues: "},
		{"admission: marp\nclasses:\n- {count: 2}\nadmission-params:\n  marp: 7\n", "c.yaml:5: admission-params.marp: "},
		{"classes:\n- count: 1\n  speed: 3\n", "c.yaml:3: classes[0].speed: 3: must be 0.01 to 1"},
		{"classes:\n- count: 1\n  speed: .nan\n", "classes[0].speed"},
		{"classes:\n- {count: 1, containers: 3, vcores: 2, container-memory: 512}\n", "2 kinds of capacity"},
		{"racks: 2\nclasses:\n- {count: 2, racks: [r1]}\nlinks:\n  nic: 1Gb/s\n  optical: {rate: 1Gb/s, interval: 1s, dark: 10ms}\n", "an optical switch joins racks, and there is one"},
		{"classes:\n- {count: 1, vcores: 2}\n", "go together"},
		{"classes:\n- {count: 1, containers: 1}\n", "a job needs two"},
		{"classes:\n- {count: 1, containers: -1}\n", "must be 0 to 10000"},
		{"classes:\n- count: 2\n  map-slots: 2\n", "c.yaml:3: classes[0].map-slots: no machine has a slot for reduces"},
		{"classes:\n- count: 2\n  reduce-slots: 2\n", "c.yaml:3: classes[0].reduce-slots: no machine has a slot for maps"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: 1Gb/s\n    interval: 100000h\n", "c.yaml:7: links.optical.interval: 100000h0m0s: circuits are matched anew at least every 1h0m0s; published is 1s"},
		{"classes:\n- {count: 1, memory: much}\n", "classes[0].memory"},
		{"classes:\n- {count: 1, racks: [r7]}\n", "there is no rack r7; there are [r1]"},
		{"classes:\n- {count: 2}\nlinks:\n  racks: {r7: {uplink: 1Gb/s}}\n", "there is no rack r7"},
		{"classes:\n- {count: 2}\nlinks:\n  uplink: fast\n", "c.yaml:4: links.uplink"},
		{"classes:\n- {count: 2}\nlinks:\n  optical: {rate: 1Gb/s}\n", "c.yaml:4: links.optical: an optical switch joins racks, and there is one: give two or more (racks: 2)"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: fast\n", "c.yaml:6: links.optical.rate"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical: {interval: 1s}\n", "links.optical.rate"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: 1Gb/s\n    interval: 0s\n", "c.yaml:7: links.optical.interval: 0s: circuits are matched anew at most every 100ms; published is 1s"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: 1Gb/s\n    interval: soon\n", `c.yaml:7: links.optical.interval: "soon": must be a time`},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: 1Gb/s\n    dark: 1s\n", "c.yaml:7: links.optical.dark: optical switch: dark time 1s must be shorter than the interval 1s"},
		{"racks: 2\nclasses:\n- {count: 2}\nlinks:\n  optical:\n    rate: 1Gb/s\n    threshold: much\n", "c.yaml:7: links.optical.threshold"},
		{"classes:\n- {count: 2}\npolicy: best\n", "c.yaml:3: policy"},
		{"classes:\n- {count: 2}\nadmission: best\n", "c.yaml:3: admission"},
		{"classes:\n- {count: 2}\nplacement: best\n", "c.yaml:3: placement"},
		{"classes:\n- {count: 2}\npolicy: hybrid\n", `c.yaml:3: policy: hybrid puts work on machines of class "scale-up", and there are none`},
		{"classes:\n- {count: 2}\nplacement: two-plus-one\n", "c.yaml:3: placement"},
		{"classes:\n- {count: 2000}\n", "1 to 1000"},
		{"machines: 3\n", "machines"},
	} {
		_, err := parseDescription("c.yaml", []byte(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v; want %q", tt.file, err, tt.want)
		}
	}
}

// FuzzDescription: no file makes the command crash or start more than it may.
func FuzzDescription(f *testing.F) {
	f.Add([]byte(twoClasses))
	f.Add([]byte("classes: [{count: 1000000000}, {count: 1000000000}]\nracks: 1000000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := parseDescription("c.yaml", data)
		if err != nil {
			return
		}
		if n := len(d.workers()); n < 1 || n > maxWorkers {
			t.Errorf("%d workers", n)
		}
	})
}
