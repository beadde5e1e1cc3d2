package master

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler/policies"
)

func newCore(t testing.TB) *tracker.Tracker {
	t.Helper()
	p, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := tracker.DefaultConfig()
	cfg.KeepEnded = 3
	c, err := tracker.New(cfg, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openOn is a master with jobs and a journal, and nothing else.
func openOn(t testing.TB, fsys disk.FS) *Master {
	t.Helper()
	m := &Master{jobs: newCore(t), cfg: Config{Log: slog.New(slog.DiscardHandler)}}
	if err := m.openJobLog(fsys, journal.Config{SegmentBytes: 2 << 10, MaxRecord: 16 << 10, MaxBatch: 16 << 10, ReserveBytes: 1}); err != nil {
		t.Fatal(err)
	}
	m.jobs.Resume(m.base)
	if err := m.keep(m.jobs.Take().Records); err != nil {
		t.Fatal(err)
	}
	return m
}

func seen(c *tracker.Tracker) string {
	var b strings.Builder
	for _, s := range c.Jobs() {
		fmt.Fprintf(&b, "%s %d %s %s; ", s.Job, len(s.Name), s.State, s.Error)
	}
	return b.String()
}

func after(t testing.TB, records []tracker.Record) string {
	t.Helper()
	c := newCore(t)
	for i := range records {
		r := records[i]
		c.Replay(&r)
	}
	c.Resume(1)
	return seen(c)
}

// TestPowerCuts: whenever the power goes, also in the middle of a compaction, the master comes back with all that was
// acknowledged, and with nothing that never was.
func TestPowerCuts(t *testing.T) {
	compactions, cuts := 0, 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 5))
		fsys := memdisk.New()
		m := openOn(t, fsys)
		var all []tracker.Record // of this seed, also those that a cut has taken
		acked := 0
		for range 60 {
			switch rng.IntN(12) {
			case 0:
				if err := m.log.journal.Wait(m.last); err != nil {
					t.Fatal(err)
				}
				acked = len(all)
			case 1, 2:
				compactions++
				at := cutAt(fsys, rng)
				_, err := m.compact(m.last, m.jobs.Snapshot(0))
				if at != nil { // the power went in the middle
					fsys.SetFail(nil)
					m = reopen(t, seed, m, at(), &all, acked)
					fsys = m.log.fs.(*memdisk.FS)
					acked = len(all)
					cuts++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				acked = len(all)
			case 3:
				m = reopen(t, seed, m, fsys.Crash(rng), &all, acked)
				fsys = m.log.fs.(*memdisk.FS)
				acked = len(all)
				cuts++
			default:
				change(t, m, rng)
				out := m.jobs.Take()
				if err := m.keep(out.Records); err != nil {
					t.Fatal(err)
				}
				all = append(all, out.Records...)
			}
		}
		if err := m.log.journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if compactions == 0 || cuts == 0 {
		t.Errorf("%d compactions, %d cuts", compactions, cuts)
	}
}

// cutAt makes the power go after a random operation, sometimes: it returns how to get the disk that is left.
func cutAt(fsys *memdisk.FS, rng *rand.Rand) func() *memdisk.FS {
	if rng.IntN(2) == 0 {
		return nil
	}
	left, n := (*memdisk.FS)(nil), rng.IntN(25)
	fsys.SetFail(func(string, string, int) error {
		if n--; n < 0 && left == nil {
			left = fsys.Crash(rng)
		}
		return nil
	})
	return func() *memdisk.FS {
		if left == nil {
			left = fsys.Crash(rng)
		}
		return left
	}
}

func change(t *testing.T, m *Master, rng *rand.Rand) {
	t.Helper()
	now := time.Duration(m.last + 1)
	if jobs := m.jobs.Jobs(); len(jobs) > 0 && rng.IntN(2) == 0 {
		if err := m.jobs.Kill(now, jobs[rng.IntN(len(jobs))].Job, "enough"); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := m.jobs.Submit(now, wire.JobSpec{Name: strings.Repeat("x", rng.IntN(200)), User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}}); err != nil {
		t.Fatal(err)
	}
}

// reopen starts a master on what a power cut has left, and sees that it is some state from the acknowledged one on.
func reopen(t *testing.T, seed uint64, old *Master, left *memdisk.FS, all *[]tracker.Record, acked int) *Master {
	t.Helper()
	_ = old.log.journal.Close() // on the disk that is gone
	m := openOn(t, left)
	got := seen(m.jobs)
	for k := len(*all); k >= acked; k-- {
		if after(t, (*all)[:k]) == got {
			*all = (*all)[:k]
			return m
		}
	}
	t.Fatalf("seed %d: %d records, %d acknowledged: the master came back with\n%s\nand not with\n%s", seed, len(*all), acked, got, after(t, *all))
	return nil
}

// TestFailedCompaction: a snapshot that cannot be written leaves what was there.
func TestFailedCompaction(t *testing.T) {
	for op := range 12 {
		fsys := memdisk.New()
		m := openOn(t, fsys)
		rng := rand.New(rand.NewPCG(uint64(op), 1))
		for range 20 {
			change(t, m, rng)
			if err := m.keep(m.jobs.Take().Records); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.log.journal.Wait(m.last); err != nil {
			t.Fatal(err)
		}
		want, n := seen(m.jobs), 0
		fsys.SetFail(func(string, string, int) error {
			if n++; n == op+1 {
				return errors.New("a bad disk")
			}
			return nil
		})
		_, err := m.compact(m.last, m.jobs.Snapshot(0))
		fsys.SetFail(nil)
		_ = m.log.journal.Close() // it may have failed, too
		if again := seen(openOn(t, fsys).jobs); again != want {
			t.Errorf("operation %d failed (%v): the master came back with\n%s\nwant\n%s", op, err, again, want)
		}
	}
}

// TestDamagedSnapshot: any changed byte, and any missing end, is refused.
func TestDamagedSnapshot(t *testing.T) {
	m := openOn(t, memdisk.New())
	defer m.log.journal.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		change(t, m, rng)
	}
	var b bytes.Buffer
	if _, err := encodeSnapshot(&b, 7, m.jobs.Snapshot(0)); err != nil {
		t.Fatal(err)
	}
	read := func(data []byte) error {
		_, err := decodeSnapshot(bytes.NewReader(data), func(*tracker.Record) {})
		return err
	}
	if err := read(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	for i := range b.Len() {
		bad := bytes.Clone(b.Bytes())
		bad[i] ^= 0x40
		if read(bad) == nil {
			t.Fatalf("byte %d was changed and nobody noticed", i)
		}
		if read(b.Bytes()[:i]) == nil {
			t.Fatalf("the file was cut at %d and nobody noticed", i)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	var b bytes.Buffer
	_, err := encodeSnapshot(&b, 7, []tracker.Record{{Kind: tracker.Numbered, First: 3}, {Kind: tracker.Submitted, Job: "job-1", Spec: &wire.JobSpec{Name: "x"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = decodeSnapshot(bytes.NewReader(data), func(*tracker.Record) {})
	})
}

// TestGoldenSnapshot: what version 1 wrote is read.
func TestGoldenSnapshot(t *testing.T) {
	const name = "testdata/golden-v1.snapshot"
	if os.Getenv("MILLRACE_REWRITE") != "" {
		writeGolden(t, name)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := newCore(t)
	seq, err := decodeSnapshot(f, c.Replay)
	if err != nil || seq != 42 {
		t.Fatal(seq, err)
	}
	c.Resume(1)
	var got []string
	for _, s := range c.Jobs() {
		got = append(got, fmt.Sprintf("%s %s %s %d/%d %d/%d", s.Job, s.Name, s.State, s.Maps.Done, s.Maps.Total, s.Reduces.Done, s.Reduces.Total))
	}
	want := "job-3 queued QUEUED 0/0 0/0; job-2 running RUNNING 2/3 0/1; job-1 over FAILED 1/3 0/1"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
}

func writeGolden(t *testing.T, name string) {
	t.Helper()
	c := newCore(t)
	spec := func(n string) *wire.JobSpec { return &wire.JobSpec{Name: n, User: "ann", Stages: 1} }
	plan := &wire.StagePlan{Reducers: 1, Work: "/out/.w", Splits: []wire.Split{{Ranges: []wire.Range{{Path: "/a", Length: 5}}, Hosts: []string{"w1"}}, {Ranges: []wire.Range{{Path: "/a", Offset: 5, Length: 5}}}, {}}}
	done := func(id wire.JobID, i int32) tracker.Record {
		return tracker.Record{Kind: tracker.TaskDone, Job: id, Task: &tracker.TaskRecord{Kind: wire.MapTask, Index: i, Try: uint64(i + 1), Node: "w1", Rack: "r1", Millis: 7, In: 5, Out: 9, Counts: wire.Counts{"g": {"n": 1}}}}
	}
	for _, r := range []tracker.Record{
		{Kind: tracker.Submitted, Job: "job-1", Spec: spec("over")},
		{Kind: tracker.Planned, Job: "job-1", Plan: plan},
		done("job-1", 1),
		{Kind: tracker.JobEnded, Job: "job-1", State: tracker.Failed, Text: "why", At: 9},
		{Kind: tracker.Submitted, Job: "job-2", Spec: spec("running")},
		{Kind: tracker.Planned, Job: "job-2", Plan: plan},
		done("job-2", 0), done("job-2", 2),
		{Kind: tracker.Submitted, Job: "job-3", Spec: spec("queued")},
	} {
		c.Replay(&r)
	}
	var b bytes.Buffer
	_, err := encodeSnapshot(&b, 42, c.Snapshot(10))
	if err := errors.Join(err, os.MkdirAll("testdata", 0o755), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestAgeCountsTheTimeWithoutAMaster: a cluster is as old as the clock says, however often its master was away; what a clock says
// that jumps makes it neither younger nor much older.
func TestAgeCountsTheTimeWithoutAMaster(t *testing.T) {
	hourAgo := time.Now().Add(-time.Hour).UnixMilli()
	record := func(at time.Duration, wall int64) tracker.Record {
		return tracker.Record{At: at, Kind: tracker.Numbered, First: 1, Wall: wall}
	}
	const late = 30 * time.Second // of a busy machine
	for name, x := range map[string]struct {
		records  []tracker.Record
		min, max time.Duration
	}{
		"no record":           {nil, 0, late},
		"records of no clock": {[]tracker.Record{record(time.Minute, 0)}, time.Minute, time.Minute + late},
		"away for an hour":    {[]tracker.Record{record(time.Minute, hourAgo), record(2*time.Minute, 0)}, time.Hour + time.Minute, time.Hour + time.Minute + late},
		"a clock half a day behind for a while": {
			[]tracker.Record{record(time.Minute, hourAgo), record(2*time.Minute, hourAgo-12*3600_000)},
			time.Hour + time.Minute, time.Hour + time.Minute + late,
		},
		"a clock half a day ahead": {[]tracker.Record{record(time.Minute, hourAgo+12*3600_000)}, time.Minute, time.Minute + late},
	} {
		m := openOn(t, memdisk.New())
		for i := range x.records {
			payload, err := json.Marshal(&x.records[i])
			if err == nil {
				_, err = m.log.journal.Commit(payload)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		next := reopenAt(t, m, time.Now())
		if got := next.now(); got < x.min || got > x.max {
			t.Errorf("%s: the cluster is %v old, want %v", name, got, x.min)
		}
		// A snapshot stands for the records, also of those with clocks.
		all := next.snapshot()
		if all[0].Wall == 0 || all[0].At < x.min {
			t.Errorf("%s: a snapshot begins with %+v", name, all[0])
		}
		if _, err := next.compact(next.last, all); err != nil {
			t.Fatal(err)
		}
		if got := reopenAt(t, next, time.Now()).now(); got < x.min || got > x.max {
			t.Errorf("%s, after a snapshot: the cluster is %v old, want %v", name, got, x.min)
		}
	}
}

// reopenAt is the next master on the same disk, which began at a time.
func reopenAt(t *testing.T, m *Master, begin time.Time) *Master {
	t.Helper()
	if err := m.log.journal.Close(); err != nil {
		t.Fatal(err)
	}
	next := &Master{jobs: newCore(t), cfg: m.cfg, begin: begin}
	if err := next.openJobLog(m.log.fs, journal.Config{SegmentBytes: 2 << 10, MaxRecord: 16 << 10, MaxBatch: 16 << 10, ReserveBytes: 1}); err != nil {
		t.Fatal(err)
	}
	return next
}
