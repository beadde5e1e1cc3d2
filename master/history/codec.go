package history

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// Version is the version of keys and values that is written; docs/formats/jobs.md describes it.
const Version = 1

// The first byte of a key.
const (
	metaKey  = 'm' // m format, m applied
	jobKey   = 'j' // j NUMBER
	eventKey = 'e' // e NUMBER RECORD EPOCH COUNT
)

var (
	formatKey  = []byte{metaKey, 'f'}
	appliedKey = []byte{metaKey, 'a'}
)

// number is the number of a job, 0 if the id is not one.
func number(id wire.JobID) uint64 {
	digits, ok := strings.CutPrefix(string(id), "job-")
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil {
		return 0
	}
	return n
}

func keyOfJob(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{jobKey}, n) }

// eventsOf is the beginning of the keys of a job's events.
func eventsOf(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{eventKey}, n) }

// keyOfEvent orders events by the journal. Those that are not in it follow the record they came after.
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
	isSpeculative
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

// appendEvent encodes an event: version, kind, bits, time, then the parts that the bits name, in their order.
func appendEvent(b []byte, e *wire.PastEvent) []byte {
	bits := bitsOf(e)
	b = append(b, Version, byte(slices.Index(wire.PastKinds, e.Kind)))
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendVarint(b, e.At)
	if bits&hasStage != 0 {
		b = binary.AppendUvarint(b, uint64(e.Stage))
	}
	if bits&hasAttempt != 0 {
		b = append(b, byte(max(0, slices.Index(taskKinds, e.Task))))
		b = binary.AppendUvarint(b, uint64(uint32(e.Index)))
		b = binary.AppendUvarint(b, e.Try)
		b = binary.AppendUvarint(b, uint64(e.Number))
	}
	if bits&hasNode != 0 {
		b = appendText(b, string(e.Node))
	}
	if bits&hasLocality != 0 {
		b = append(b, byte(max(0, slices.Index(localities, e.Locality))))
	}
	if bits&hasSizes != 0 {
		b = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, e.Millis), e.In), e.Out)
	}
	if bits&hasCounts != 0 {
		b = appendCounts(b, e.Counts)
	}
	if bits&hasPlan != 0 {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(uint32(e.Maps))), uint64(uint32(e.Reduces)))
	}
	if bits&hasState != 0 {
		b = appendText(b, e.State)
	}
	if bits&hasText != 0 {
		b = appendText(b, e.Text)
	}
	return b
}

func bitsOf(e *wire.PastEvent) uint64 {
	return bit(hasStage, e.Stage != 0) | bit(hasAttempt, e.Task != "") | bit(hasNode, e.Node != "") |
		bit(hasLocality, e.Locality != "") | bit(isSpeculative, e.Speculative) |
		bit(hasSizes, e.Millis != 0 || e.In != 0 || e.Out != 0) | bit(hasCounts, len(e.Counts) > 0) |
		bit(hasPlan, e.Maps != 0 || e.Reduces != 0) | bit(hasState, e.State != "") | bit(hasText, e.Text != "")
}

func bit(b uint64, on bool) uint64 {
	if on {
		return b
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendCounts(b []byte, c wire.Counts) []byte {
	b = binary.AppendUvarint(b, uint64(len(c)))
	for _, g := range slices.Sorted(maps.Keys(c)) {
		b = binary.AppendUvarint(appendText(b, g), uint64(len(c[g])))
		for _, name := range slices.Sorted(maps.Keys(c[g])) {
			b = binary.AppendVarint(appendText(b, name), c[g][name])
		}
	}
	return b
}

// appendJob encodes what is known of a job as a whole: it is read as often as written, and grows.
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
