package bare

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/millrace/millrace/jobs/gensort"
)

func sortReference(data []byte) []byte {
	records := slices.Collect(slices.Chunk(data, recordBytes))
	slices.SortStableFunc(records, func(a, b []byte) int { return bytes.Compare(a[:10], b[:10]) })
	return bytes.Join(records, nil)
}

func generated(rows int, form gensort.Form) []byte {
	data := make([]byte, rows*recordBytes)
	gensort.NewGenerator(gensort.Uint128{}, form).Fill(data)
	return data
}

// likeKeys returns records whose keys have few values and differ at all places.
func likeKeys(rows int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	data := generated(rows, gensort.Binary)
	for r := range rows {
		key := data[r*recordBytes:][:10]
		clear(key)
		key[rng.IntN(10)] = byte(rng.IntN(3)) * 127
	}
	return data
}

func TestSort(t *testing.T) {
	tests := []struct {
		name string
		data []byte
	}{
		{"empty", nil},
		{"one", generated(1, gensort.Binary)},
		{"binary", generated(30_001, gensort.Binary)},
		{"ascii", generated(5_003, gensort.ASCII)},
		{"like keys", likeKeys(25_000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, tt.data, sortReference(tt.data), Sort) })
	}
}

func TestSortRefusesPartialRecord(t *testing.T) {
	in, out := inOut(t, make([]byte, 150))
	if err := Sort(in, out, 2); err == nil {
		t.Error("Sort of 150 bytes succeeded")
	}
}
