package history

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// Version is the version in which keys and values are written; docs/formats/jobs.md describes it.
const Version = 1

// The first byte of a key.
const (
	metaKey  = 'm' // m format, m applied, m number of jobs
	jobKey   = 'j' // j NUMBER
	eventKey = 'e' // e NUMBER RECORD EPOCH COUNT
	textKey  = 't' // t SUM
)

var (
	formatKey  = []byte{metaKey, 'f'}
	appliedKey = []byte{metaKey, 'a'}
	jobsKey    = []byte{metaKey, 'j'}
)

// number returns the number of a job, or 0 if the id is not a job's.
func number(id wire.JobID) uint64 {
	digits, ok := strings.CutPrefix(string(id), "job-")
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil {
		return 0
	}
	return n
}

func keyOfJob(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{jobKey}, n) }

// eventsOf returns the prefix of the keys of a job's events.
func eventsOf(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{eventKey}, n) }

// keyOfEvent returns a key that orders events by the journal. An event that is not in the journal follows the record it
// came after.
func keyOfEvent(n uint64, e *Entry) []byte {
	k := binary.BigEndian.AppendUint64(eventsOf(n), e.Seq)
	k = binary.BigEndian.AppendUint32(k, e.Epoch)
	return binary.BigEndian.AppendUint32(k, e.Count)
}

// The parts of an event that are not zero, as bits.
const (
	hasStage = 1 << iota
	hasAttempt
	hasNode
	hasLocality
	isSecond
	hasSizes
	hasCounts
	hasPlan
	hasState
	hasText
	knownBits = 1<<iota - 1
)

var (
	taskKinds  = []wire.TaskKind{wire.MapTask, wire.ReduceTask, wire.DriverTask}
	localities = []string{"", "node", "rack", "remote"}
)

// maxText bounds a text of an event. The master has cut its texts to far less.
const maxText = 1 << 20

// encodeEvent encodes an event: version, kind, bits, time, then the parts that the bits name, in their order.
func encodeEvent(e *wire.PastEvent) []byte {
	f := codec.Write([]byte{Version}, Version)
	eventFields(&f, e, false)
	return f.Written()
}

// parseEvent is the inverse of encodeEvent. If brief is set, it skips the counters, which are most of an attempt's end.
// It accepts any bytes.
func parseEvent(b []byte, brief bool) (e wire.PastEvent, err error) {
	if err := checkVersion(b); err != nil {
		return e, err
	}
	f := codec.Read(b[1:], b[0], maxText)
	eventFields(&f, &e, brief)
	if err := f.End(); err != nil {
		return wire.PastEvent{}, wire.Errorf(wire.Corrupt, "history: an event that %w", err)
	}
	return e, nil
}

// eventFields describes an event both ways; a brief one is only read.
func eventFields(f *codec.Fields, e *wire.PastEvent, brief bool) {
	bits := bitsOf(e)
	codec.OneOf(f, &e.Kind, wire.PastKinds)
	if f.Uint(&bits); bits > knownBits {
		f.Fail("has unknown parts")
		return
	}
	f.Int(&e.At)
	if bits&hasStage != 0 {
		codec.Number(f, &e.Stage)
	}
	if bits&hasAttempt != 0 {
		codec.OneOf(f, &e.Task, taskKinds)
		codec.Number(f, &e.Index)
		codec.Number(f, &e.Try)
		codec.Number(f, &e.Number)
	}
	if bits&hasNode != 0 {
		codec.Text(f, &e.Node)
	}
	if bits&hasLocality != 0 {
		codec.OneOf(f, &e.Locality, localities)
	}
	e.Second = bits&isSecond != 0
	resultFields(f, e, bits, brief)
}

// resultFields describes the result of an attempt.
func resultFields(f *codec.Fields, e *wire.PastEvent, bits uint64, brief bool) {
	if bits&hasSizes != 0 {
		f.Int(&e.Millis)
		f.Int(&e.In)
		f.Int(&e.Out)
	}
	if bits&hasCounts != 0 && brief {
		passCounts(f)
	} else if bits&hasCounts != 0 {
		countFields(f, &e.Counts)
	}
	if bits&hasPlan != 0 {
		codec.Number(f, &e.Maps)
		codec.Number(f, &e.Reduces)
	}
	if bits&hasState != 0 {
		codec.Text(f, &e.State)
	}
	if bits&hasText != 0 {
		codec.Text(f, &e.Text)
	}
}

// A group is one group of counters, and a counter one of them, in the order in which events keep them.
type (
	group struct {
		name string
		of   []counter
	}
	counter struct {
		name string
		n    int64
	}
)

func countFields(f *codec.Fields, c *wire.Counts) {
	groups := make([]group, 0, len(*c))
	for _, g := range slices.Sorted(maps.Keys(*c)) {
		of := make([]counter, 0, len((*c)[g]))
		for _, name := range slices.Sorted(maps.Keys((*c)[g])) {
			of = append(of, counter{name, (*c)[g][name]})
		}
		groups = append(groups, group{g, of})
	}
	codec.List(f, &groups, func(f *codec.Fields, g *group) {
		codec.Text(f, &g.name)
		codec.List(f, &g.of, func(f *codec.Fields, c *counter) {
			codec.Text(f, &c.name)
			f.Int(&c.n)
		})
	})
	if !f.Reading() || len(groups) == 0 {
		return
	}
	*c = wire.Counts{}
	for _, g := range groups {
		of := map[string]int64{}
		for _, v := range g.of {
			of[v.name] = v.n
		}
		(*c)[g.name] = of
	}
}

// passCounts skips what countFields would read.
func passCounts(f *codec.Fields) {
	f.PassList(func(f *codec.Fields) {
		f.PassText()
		f.PassList(func(f *codec.Fields) {
			f.PassText()
			var n int64
			f.Int(&n)
		})
	})
}

func bitsOf(e *wire.PastEvent) uint64 {
	return bit(hasStage, e.Stage != 0) | bit(hasAttempt, e.Task != "") | bit(hasNode, e.Node != "") |
		bit(hasLocality, e.Locality != "") | bit(isSecond, e.Second) |
		bit(hasSizes, e.Millis != 0 || e.In != 0 || e.Out != 0) | bit(hasCounts, len(e.Counts) > 0) |
		bit(hasPlan, e.Maps != 0 || e.Reduces != 0) | bit(hasState, e.State != "") | bit(hasText, e.Text != "")
}

func bit(b uint64, on bool) uint64 {
	if on {
		return b
	}
	return 0
}

// appendJob encodes what is known of a job as a whole, as JSON: rows are read as often as written, and grow.
func appendJob(j *wire.PastJob) ([]byte, error) {
	b, err := json.Marshal(j)
	return append([]byte{Version}, b...), err
}

func parseJob(b []byte) (*wire.PastJob, error) {
	if err := checkVersion(b); err != nil {
		return nil, err
	}
	j := &wire.PastJob{}
	if err := json.Unmarshal(b[1:], j); err != nil {
		return nil, wire.Errorf(wire.Corrupt, "history: a job is not understood: %w", err)
	}
	return j, nil
}

func checkVersion(b []byte) error {
	if len(b) == 0 {
		return wire.Errorf(wire.Corrupt, "history: an empty value")
	}
	if b[0] != Version {
		return wire.Errorf(wire.Invalid, "history: a value of version %d; this program knows version %d", b[0], Version)
	}
	return nil
}
