package recordfile

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// seal makes the checksums of a fuzzed file right, so that the fuzzer gets
// behind them. It follows the lengths the file claims for itself.
func seal(file []byte) {
	if len(file) < fileHeaderBytes {
		return
	}
	copy(file, Magic)
	at := fileHeaderBytes
	if file[8] != typedVersion {
		file[8] = version
	} else if n := int(binary.LittleEndian.Uint16(file[10:])); n <= len(file)-at-4 {
		binary.LittleEndian.PutUint32(file[at+n:], checksum(file[at:at+n]))
		at += n + 4
	}
	binary.LittleEndian.PutUint32(file[28:], checksum(file[:28]))
	for len(file)-at >= blockHeaderBytes {
		p := (*[blockHeaderBytes]byte)(file[at:])
		copy(p[:], file[12:28])
		binary.LittleEndian.PutUint64(p[16:], uint64(at))
		stored := min(int(binary.LittleEndian.Uint32(p[24:])), len(file)-at-blockHeaderBytes)
		binary.LittleEndian.PutUint32(p[40:], checksum(file[at+blockHeaderBytes:][:stored]))
		binary.LittleEndian.PutUint32(p[44:], checksum(p[:44]))
		at += blockHeaderBytes + stored
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range codecs {
		f.Add(write(f, Options{Codec: c, BlockBytes: 300}, sample(20)), int64(0), int64(1<<20), true)
		f.Add(write(f, Options{Codec: c}, nil), int64(40), int64(100), false)
	}
	f.Add(write(f, Options{Types: typed}, sample(5)), int64(0), int64(1<<20), true)
	f.Fuzz(func(t *testing.T, file []byte, off, length int64, sealed bool) {
		if sealed {
			file = bytes.Clone(file)
			seal(file)
		}
		limits := Limits{MaxBlockBytes: 1 << 20}
		r, err := NewReader(bytes.NewReader(file), int64(len(file)), off, length, limits)
		if err != nil {
			return
		}
		total, block := 0, int64(-1)
		for r.Next() {
			if r.Offset() != block {
				total, block = 0, r.Offset()
			}
			total += len(r.Key()) + len(r.Value())
			if total > limits.MaxBlockBytes {
				t.Fatalf("block of more than %d bytes", limits.MaxBlockBytes)
			}
		}
		if r.Next() {
			t.Fatal("Next after the end")
		}
	})
}
