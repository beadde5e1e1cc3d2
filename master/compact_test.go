package master

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
)

// TestSnapshotThatFails: a master that cannot write a snapshot goes on, and tries again no sooner than in a minute; then the journal becomes short.
func TestSnapshotThatFails(t *testing.T) {
	m := served(t, func(c *Config) { c.CompactFrom, c.Jobs.KeepEnded = 4<<10, 1 })
	inTheWay := filepath.Join(m.cfg.Dir, "jobs", snapshotName+".new", "x")
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	work := func() {
		t.Helper()
		for range 20 {
			must(t, m, ann, api.JobKill, wire.JobRequest{Job: submitted(t, m, ann, sleepJob(strings.Repeat("n", 200)))})
		}
	}
	state := func() jobLog {
		t.Helper()
		l, err := ask(t.Context(), m, func(time.Duration) (jobLog, error) { return m.log, nil })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	work()
	eventually(t, "it is found out", func() bool { l := state(); return l.retry > 0 && !l.busy })
	first := state().retry
	if soonest := m.now() + 30*time.Second; first < soonest {
		t.Errorf("it is tried again at %v, now it is %v", first, m.now())
	}
	if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
		t.Fatal(err)
	}
	work()
	if l := state(); l.snapshot != 0 || l.busy || l.retry != first {
		t.Errorf("before it is time: %+v", l)
	}
	long := state().since
	if _, err := ask(t.Context(), m, func(now time.Duration) (none, error) { m.log.retry = now; return none{}, nil }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is a snapshot", func() bool { l := state(); return l.snapshot > 0 && !l.busy })
	if l := state(); l.since >= long || l.since < 0 {
		t.Errorf("behind the snapshot there are %d bytes, before there were %d", l.since, long)
	}
	info, err := os.Stat(filepath.Join(m.cfg.Dir, "jobs", snapshotName))
	if err != nil || info.Size() != state().snapshot {
		t.Errorf("the snapshot counts as %d bytes: %v, %v", state().snapshot, info, err)
	}
}

// TestHistoryHoldsTheJournal: records that the history has not read yet stay in the journal, whatever stands for them.
func TestHistoryHoldsTheJournal(t *testing.T) {
	for lags, want := range map[bool]bool{true: true, false: false} {
		m := openReal(t, t.TempDir())
		for range 3 { // each file of the journal is as long as this
			m.keepAll(t, []tracker.Record{{Kind: tracker.JobEnded, Job: "job-1", Text: strings.Repeat("x", jobsSegment)}})
		}
		cfg := history.DefaultConfig()
		cfg.Dir, cfg.FS, cfg.Durable = "history", vfs.NewMem(), func() uint64 { return 0 }
		cfg.Scan = func(from, _ uint64, _ func(uint64, []history.Entry) error) (uint64, error) { return from, nil }
		if !lags {
			cfg.Durable = func() uint64 { return m.last }
		}
		past, err := history.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the history has read what there is", func() bool { return past.Applied() == cfg.Durable() })
		m.past = past
		if _, err := m.compact(m.last, m.jobs.Snapshot(0)); err != nil {
			t.Fatal(err)
		}
		first, err := m.log.journal.Scan(1, m.last, func(uint64, []byte) error { return nil })
		if err != nil || (first == 1) != want {
			t.Errorf("the history lags: %t; the journal begins at %d, %v", lags, first, err)
		}
		if err := past.Close(); err != nil {
			t.Fatal(err)
		}
		closeReal(t, m)
	}
}

// keepAll writes records and waits until they are durable.
func (m *Master) keepAll(t *testing.T, records []tracker.Record) {
	t.Helper()
	if err := m.keep(records); err != nil {
		t.Fatal(err)
	}
	m.onDisk(t)
}

// TestWhenRecordsSayTheTime: of a job that comes and of one that ends the journal knows the time of day, and how many bytes it holds.
func TestWhenRecordsSayTheTime(t *testing.T) {
	m := openReal(t, t.TempDir())
	defer closeReal(t, m)
	spec := sleepJob("j")
	before, since := time.Now().UnixMilli(), m.log.since
	records := []tracker.Record{
		{Kind: tracker.Submitted, Job: "job-1", Spec: &spec}, {Kind: tracker.Committed, Job: "job-1"}, {Kind: tracker.JobEnded, Job: "job-1"},
	}
	m.keepAll(t, records)
	bytes := int64(0)
	_, err := m.log.journal.Scan(m.last-2, m.last, func(seq uint64, payload []byte) error {
		bytes += int64(len(payload))
		r, err := decodeRecord(payload)
		if err == nil && (r.Wall >= before) != (r.Kind != tracker.Committed) {
			t.Errorf("record %d says %d: %+v", seq, r.Wall, r)
		}
		return err
	})
	if err != nil || m.log.since-since != bytes {
		t.Errorf("%d bytes of records count as %d, %v", bytes, m.log.since-since, err)
	}
	if _, err := decodeRecord([]byte("{")); wire.KindOf(err) != wire.Corrupt || !strings.Contains(err.Error(), "a record of the jobs") {
		t.Errorf("what is no record: %v", err)
	}
}

// TestCompactFrom: without a setting a journal is left alone until it holds 4 MiB.
func TestCompactFrom(t *testing.T) {
	for set, want := range map[int64]int64{0: 4 << 20, 1: 1, 5000: 5000} {
		if got := (&Config{CompactFrom: set}).compactFrom(); got != want {
			t.Errorf("set to %d: %d", set, got)
		}
	}
}

// TestLargestJob: a description of as many bytes as are allowed is taken, one of a byte more is refused and says by how much.
func TestLargestJob(t *testing.T) {
	spec := sleepJob("")
	b, err := json.Marshal(&spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.Name = strings.Repeat("n", maxSpec-len(b))
	if err := checkSize(&spec); err != nil {
		t.Error(err)
	}
	spec.Name += "n"
	refusal(t, "a byte too many", checkSize(&spec), wire.TooLarge, "1048577", "at most 1048576", "side file")
}

// TestLaterSnapshot: a snapshot of a later version is refused by its number, one with a record that cannot be as damaged, and the bytes of each are counted.
func TestLaterSnapshot(t *testing.T) {
	var b bytes.Buffer
	size, err := encodeSnapshot(&b, 7, []tracker.Record{{Kind: tracker.Numbered, First: 3}})
	if err != nil || size != int64(b.Len()) {
		t.Errorf("%d bytes count as %d, %v", b.Len(), size, err)
	}
	none := func(*tracker.Record) { t.Error("it is read") }
	later := bytes.Clone(b.Bytes())
	binary.LittleEndian.PutUint32(later[8:], snapshotVersion+1)
	binary.LittleEndian.PutUint32(later[20:], codec.Sum(later[:20]))
	_, err = decodeSnapshot(bytes.NewReader(later), none)
	refusal(t, "a later version", err, wire.Invalid, "version 2", "knows version 1")
	for words, length := range map[string]uint32{"too long": maxSnapshotRec + 1, "cut short": maxSnapshotRec} {
		odd := bytes.Clone(b.Bytes())
		binary.LittleEndian.PutUint32(odd[snapshotHead:], length)
		_, err = decodeSnapshot(bytes.NewReader(odd), none)
		refusal(t, words, err, wire.Corrupt, words, "offset 24")
	}
	odd := append(bytes.Clone(b.Bytes()[:snapshotHead]), 1, 0, 0, 0)
	odd = append(binary.LittleEndian.AppendUint32(odd, codec.Sum([]byte("{"))), '{')
	_, err = decodeSnapshot(bytes.NewReader(odd), none)
	refusal(t, "no record", err, wire.Corrupt, "offset 24", "JSON")
}
