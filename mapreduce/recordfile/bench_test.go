package recordfile

import (
	"bytes"
	"io"
	"testing"
)

// rows returns n records of about 100 bytes of repetitive text.
func rows(n int) []record {
	records := sample(4 * n)
	for i := range n {
		records[i] = record{records[4*i].Key, records[4*i].Value + records[4*i+2].Value}
	}
	return records[:n]
}

func BenchmarkWrite100ByteRecords(b *testing.B) {
	records := rows(20_000)
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(write(b, Options{}, records))))
			keys, values := split(records)
			for b.Loop() {
				w, err := NewWriter(io.Discard, Options{Codec: c})
				if err != nil {
					b.Fatal(err)
				}
				for i := range keys {
					if err := w.Append(keys[i], values[i]); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func split(records []record) (keys, values [][]byte) {
	for _, r := range records {
		keys, values = append(keys, []byte(r.Key)), append(values, []byte(r.Value))
	}
	return keys, values
}

func BenchmarkRead100ByteRecords(b *testing.B) {
	records := rows(20_000)
	for _, c := range codecs {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(write(b, Options{}, records))))
			file := write(b, Options{Codec: c}, records)
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(file), int64(len(file)), 0, int64(len(file)), Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
			}
		})
	}
}
