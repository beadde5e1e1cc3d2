package recordfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

var codecs = []Codec{None, S2, Zstd}

// typed are types of pairs.
var typed = Types{"struct{User bytes; Second int64}", "float64"}

type record struct{ Key, Value string }

// sample returns n records of varied shape: empty keys and values, bytes that
// compress and bytes that do not.
func sample(n int) []record {
	rng := rand.New(rand.NewPCG(1, 2))
	records := make([]record, n)
	for i := range records {
		noise := make([]byte, rng.IntN(40))
		for j := range noise {
			noise[j] = byte(rng.Uint32())
		}
		switch i % 4 {
		case 0:
			records[i] = record{fmt.Sprintf("key-%04d", i), "a value that repeats itself, a value that repeats itself"}
		case 1:
			records[i] = record{string(noise), ""}
		case 2:
			records[i] = record{"", string(noise)}
		}
	}
	return records
}

func write(tb testing.TB, o Options, records []record) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range records {
		if err := w.Append([]byte(r.Key), []byte(r.Value)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if w.Offset() != int64(file.Len()) {
		tb.Fatalf("Offset = %d after %d bytes", w.Offset(), file.Len())
	}
	return file.Bytes()
}

// readRange returns the records of a range and the error that ended it.
func readRange(file []byte, off, length int64, l Limits) (records []record, err error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), off, length, l)
	if err != nil {
		return nil, err
	}
	for r.Next() {
		if r.Offset() < off || r.Offset() >= off+length {
			return nil, fmt.Errorf("block at %d in range [%d, %d)", r.Offset(), off, off+length)
		}
		records = append(records, record{string(r.Key()), string(r.Value())})
	}
	return records, r.Err()
}

// readSplit reads all ranges of the given size in file order.
func readSplit(file []byte, size int64) (records []record, err error) {
	for off := int64(0); off < int64(len(file)); off += size {
		part, err := readRange(file, off, size, Limits{})
		if err != nil {
			return nil, err
		}
		records = append(records, part...)
	}
	return records, nil
}
