package cli

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// everyKey sets each key that only a file has to a value that is not its default.
var everyKey = []string{
	`
racks: 2
classes:
- {name: up, count: 2, containers: 4, speed: 0.5}
- {name: out, count: 2, vcores: 8, container-memory: 16384}
demand: {slots: 2, vcores: 2, memory: 2048}
heartbeat: 3s
out_of_band: true
report_late: true
per_heartbeat: 1
report_every: 2s
all_heartbeats: true
uplink: 1
monitor: {interval: 2s, weight: 0.4, threshold: 0.7, clear: 0.6}
slowstart: 0.3
driver_start: 2s
break_deadlocks: false
refill: false
patience: 2h
placement: rack-aware
copies: 2
plan_horizon: 5s
failures: [{node: 1, at: 5s, until: 9s, keep_output: true}]
stragglers: {share: 0.1, factor: 5}
changes: [{at: 1s, set: a=b}]
reload: {min: 1s, max: 2s}
switches: [{at: 9s, policy: fifo, admission: {policy: marp}}]
speculation: lag
seed: 7
admission: {policy: marp}
policies: [{policy: fair}]
`, `
map_slots: 3
reduce_slots: 2
heartbeat: 0
ask_again: 200ms
policies: [{policy: fair}]
`,
}

// fieldsOfCode are those of sim.Config that no key can set, and why.
var fieldsOfCode = map[string]string{
	"Watch": "a function that looks on", "Sample": "a function that looks on", "SampleEvery": "of Sample", "Lines": "a function that looks on",
	"Capacity.VCores": "classes set Capacities", "Capacity.MemoryMB": "classes set Capacities",
	"LogAttempts": "on for attempts.csv", "Timeline": "nobody of sim run reads it", "Stop": "a function that ends the run",
}

// TestEveryFieldHasAKey: whatever sim.Config can do can be written into a scenario file.
func TestEveryFieldHasAKey(t *testing.T) {
	plain := configOf(t, "policies: [{policy: fifo}]")
	set := map[string]bool{}
	for _, text := range everyKey {
		differing(reflect.ValueOf(plain), reflect.ValueOf(configOf(t, text)), "", set)
	}
	var walk func(of reflect.Type, under string)
	walk = func(of reflect.Type, under string) {
		for f := range of.Fields() {
			name := strings.TrimPrefix(under+"."+f.Name, ".")
			switch {
			case f.Anonymous:
				walk(f.Type, under)
			case fieldsOfCode[name] != "":
				if set[name] {
					t.Errorf("%s is set by a key, and said to be set by code: %s", name, fieldsOfCode[name])
				}
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, name)
			case !set[name]:
				t.Errorf("no key of a scenario file sets %s of sim.Config", name)
			}
		}
	}
	walk(reflect.TypeFor[sim.Config](), "")
}

// differing notes the fields, nested ones with dots, in which two values differ.
func differing(a, b reflect.Value, under string, set map[string]bool) {
	for f := range a.Type().Fields() {
		name := strings.TrimPrefix(under+"."+f.Name, ".")
		x, y := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index)
		switch {
		case f.Anonymous:
			differing(x, y, under, set)
		case f.Type.Kind() == reflect.Struct:
			differing(x, y, name, set)
		case f.Type.Kind() == reflect.Func:
			set[name] = set[name] || x.IsNil() != y.IsNil()
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			set[name] = true
		}
	}
}

func scenarioOf(t *testing.T, text string) *simOptions {
	t.Helper()
	o := defaultSim()
	o.file = "s.yaml"
	if err := o.parse([]byte(text), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	return o
}

func configOf(t *testing.T, text string) sim.Config {
	t.Helper()
	o := scenarioOf(t, text)
	topo, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := o.config(topo, o.arms[0], o.seed)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// simulated runs the first policy of a scenario.
func simulated(t *testing.T, text string) *simRun {
	t.Helper()
	o := scenarioOf(t, text)
	o.out = t.TempDir() // so that attempts are kept
	topo, err := o.check()
	if err != nil {
		t.Fatal(err)
	}
	source, err := o.readSource()
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.simulate(topo, o.arms[0], source, o.seed)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const smallDay = "nodes: 4\nracks: 2\ncontainers: 2\nheartbeat: 0\nspeculation: false\njobs:\n- {maps: 16, map_time: 10, reduces: 2, reduce_time: 5}\n- {at: 5, maps: 4, map_time: 10}\npolicies: [{policy: fifo}]\n"

// TestScenarioEffects: keys do what their help says.
func TestScenarioEffects(t *testing.T) {
	plain := simulated(t, smallDay)
	mean := func(r *simRun) float64 { return r.Metrics.Completion.Mean }
	if slow := simulated(t, smallDay+"stragglers: {share: 0.3, factor: 5}\n"); mean(slow) <= 1.2*mean(plain) {
		t.Errorf("with stragglers %v s, without %v s", mean(slow), mean(plain))
	}
	half := strings.Replace(smallDay, "nodes: 4", "classes: [{name: slow, count: 4, containers: 2, speed: 0.5}]", 1)
	if slow := simulated(t, half); slow.res.Jobs[0].MapsDone != 2*plain.res.Jobs[0].MapsDone {
		t.Errorf("at half the speed the maps end at %v, else at %v", slow.res.Jobs[0].MapsDone, plain.res.Jobs[0].MapsDone)
	}
	lost := simulated(t, smallDay+"failures: [{node: 0, at: 3s, until: 40s}]\n")
	again := map[scheduler.TaskID]int{}
	for _, a := range lost.res.Log {
		again[a.Task]++
		if a.Node == 0 && (a.OK && a.End > 3*time.Second && a.End < 40*time.Second) {
			t.Errorf("a machine that has failed ends %+v", a)
		}
	}
	if n := len(slices.DeleteFunc(slices.Collect(maps.Values(again)), func(n int) bool { return n < 2 })); n != 2 || lost.Metrics.Killed != 2 {
		t.Errorf("%d tasks ran again and %d attempts were stopped; the machine ran 2", n, lost.Metrics.Killed)
	}
	if drivers := simulated(t, smallDay+"driver_start: 7s\n"); drivers.res.Jobs[0].FirstStart != 7*time.Second {
		t.Errorf("the first task starts at %v, its driver takes 7s", drivers.res.Jobs[0].FirstStart)
	}
	if early := simulated(t, smallDay+"arrivals: 0.2\n"); early.res.Jobs[1].Submitted != time.Second {
		t.Errorf("the second job comes at %v, want a fifth of 5s", early.res.Jobs[1].Submitted)
	}
	if late := simulated(t, smallDay+"stragglers: {share: 0.3, factor: 50}\n"); true {
		rule := simulated(t, strings.Replace(smallDay, "speculation: false", "speculation: late\nspeculation_params: {after: 1s, share: 1}", 1)+"stragglers: {share: 0.3, factor: 50}\n")
		if rule.res.Second == 0 || rule.Metrics.Makespan >= late.Metrics.Makespan {
			t.Errorf("%d second attempts, makespan %v s and %v s without", rule.res.Second, rule.Metrics.Makespan, late.Metrics.Makespan)
		}
	}
}

// TestScenarioModels: models and policies that come later change what happens.
func TestScenarioModels(t *testing.T) {
	plain := simulated(t, smallDay)
	for name, keys := range map[string]string{
		"contention": "model: contention\ncontention: {threads: 2}\n",
		"devices":    "model: devices\ndevices: {cores: 1}\nmap_cycles: 100\n",
		"slots":      "map_slots: 1\nreduce_slots: 1\n",
		"network":    "uplink: 0.01\nnic: 0.01\noptical: {rate: 1Gb/s, interval: 2s, dark: 20ms}\nflows: node\nnet_tick: 1s\nwrite_copies: 1\n",
		"switch":     "switches: [{at: 6s, policy: fair}]\n",
	} {
		text := smallDay + keys
		if name == "slots" {
			text = strings.Replace(text, "containers: 2\n", "", 1)
		}
		if r := simulated(t, text); r.Metrics.Completion.Mean == plain.Metrics.Completion.Mean {
			t.Errorf("%s changes nothing: mean completion %v s", name, r.Metrics.Completion.Mean)
		}
	}
}

// TestScenarioErrorsOfKeys: as TestScenarioErrors, for what only a file can say.
func TestScenarioErrorsOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"nodes: 4\nclasses: [{count: 1}]":                          `s.yaml:1: nodes: the file has classes, too; give one of them`,
		"classes:\n- {name: a, count: 0}":                          `s.yaml:2: classes[0].count: class "a" has 0 machines: give it 1 to 100000, or leave the class out`,
		"classes:\n- {name: a, count: 1, speed: 7}":                `s.yaml:2: classes[0].speed: 7: must be 0.01 to 1, a part of this machine's; make the others slower instead`,
		"racks: 2\nclasses:\n- {name: a, count: 2, racks: [r1]}":   `s.yaml:1: racks: no class has a machine in r2`,
		"racks: 2\nclasses:\n- {name: a, count: 2, racks: [r7]}":   `s.yaml:3: classes[0].racks: there is no rack r7; there are [r1 r2]`,
		"classes:\n- {count: 1, vcores: 1, container-memory: 512}": `s.yaml:2: classes[0]: a machine of class "" has no room for a map`,
		"map_slots: 3":                                      `s.yaml:1: map_slots: map_slots and reduce_slots go together`,
		"map_slots: 0\nreduce_slots: 1":                     `s.yaml:1: map_slots: 0 maps and 1 reduces at once: a machine runs 1 to 10000 maps and up to as many reduces`,
		"model: magic":                                      `s.yaml:1: model: "magic": write fixed, contention or devices`,
		"uplink: 1\nmodel: devices":                         `s.yaml:2: model: devices has no network: leave uplink out, or take fixed`,
		"model: contention\ncontention: {disk: 0}":          `s.yaml:2: contention: threads 16 and disk 0 must be 0.01 to 1000000`,
		"model: devices\ndevices: {cores: -1}":              `s.yaml:2: devices: -1: hz, cores, disk_read, disk_write, buffer_bytes and merge_bytes must be 0.001 to 1e15`,
		"optical: {rate: 1Gb/s}":                            `s.yaml:1: optical: it needs an uplink, the Gb/s of a rack's link`,
		"flows: pairs":                                      `s.yaml:1: flows: "pairs": write rack or node`,
		"monitor: {interval: 1ns}":                          `s.yaml:1: monitor: interval 1ns: give 1ms at least`,
		"heartbeat: 0\nreport_late: true":                   `s.yaml:2: report_late: it needs a heartbeat: machines with heartbeat 0 report at once`,
		"ask_again: 1s":                                     `s.yaml:1: ask_again: it needs heartbeat: 0; machines with a heartbeat ask then`,
		"report_every: 1ns":                                 `s.yaml:1: report_every: 1ns: give 0, or 1ms to 8760h0m0s`,
		"copies: 2":                                         `s.yaml:1: copies: it needs placement, such as placement: rack-aware`,
		"failures:\n- {node: 40, at: 1s}":                   `s.yaml:2: failures[0].node: 40: machines are 0 to 39`,
		"failures:\n- {at: 3s, until: 2s}":                  `s.yaml:2: failures[0].until: 2s: it fails at 3s and cannot return before; leave until out for never`,
		"stragglers: {share: 0.1}":                          `s.yaml:1: stragglers: share 0.1, factor 0: the share must be 0 to 1, the factor 1 to 1000000`,
		"changes:\n- {at: 1s, set: x}":                      `s.yaml:2: changes[0]: at 1s set "x": write at: a time from the start, set: NAME=VALUE`,
		"reload: {min: 2s, max: 1s}":                        `s.yaml:1: reload: min 2s, max 1s: min must not be negative, max not below it and at most 8760h0m0s`,
		"speculation: maybe":                                `s.yaml:1: speculation: "maybe": write late, lag or false`,
		"speculation: lag\nspeculation_params: {slower: 1}": `s.yaml:2: speculation_params: policy of second attempts by lag has no parameter "slower"; it has: after, behind, cap`,
		"slowstart: 2":                                      `s.yaml:1: slowstart: 2: give a share of the maps, 0 to 1, or -1 for at once`,
		"arrivals: 0":                                       `s.yaml:1: arrivals: 0: give a factor from 0.001 to 1000`,
		"report: {charts: [meen]}":                          `s.yaml:1: report.charts[0]: unknown chart "meen": did you mean mean? (known: mean, tail, completion, slowdown, scatter, tasks, gantt)`,
	} {
		o := defaultSim()
		o.file = "s.yaml"
		err := o.parse([]byte(text), func(string) bool { return false })
		if err == nil {
			_, err = o.check()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n     %v\nwant %s", text, err, want)
		}
	}
}
