package recordfile

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// Files of both versions must be readable for ever. Only the uncompressed ones must
// also be written the same: compressors may improve.
func TestGoldenFiles(t *testing.T) {
	records := sample(40)
	for version, o := range map[string]Options{"none": {}, "s2": {Codec: S2}, "zstd": {Codec: Zstd}, "typed": {Types: typed}} {
		t.Run(version, func(t *testing.T) {
			name := filepath.Join("testdata", "golden-"+version+".mrec")
			o.BlockBytes = 512
			now := write(t, o, records)
			if *rewrite {
				if err := os.WriteFile(name, now, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readSplit(golden, int64(len(golden)))
			if diff := cmp.Diff(records, got); err != nil || diff != "" {
				t.Errorf("error %v, records differ (-want +got):\n%s", err, diff)
			}
			if o.Codec == None && !bytes.Equal(now, golden) {
				t.Error("the same records now make another file")
			}
		})
	}
}

// TestTypesOfAFile: a file says the types that it was written with, and one of version 1 says none.
func TestTypesOfAFile(t *testing.T) {
	for name, want := range map[string]Types{"golden-typed.mrec": typed, "golden-s2.mrec": {}} {
		golden, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(golden), int64(len(golden)), 50, 10, Limits{})
		if err != nil || r.Types() != want {
			t.Errorf("%s says %q, %v", name, r.Types(), err)
		}
	}
	for _, bad := range []Types{{Key: strings.Repeat("k", maxTypes)}, {Key: "a\nb"}} {
		if _, err := NewWriter(&bytes.Buffer{}, Options{Types: bad}); err == nil {
			t.Errorf("types of %d bytes are taken", len(bad.Key))
		}
	}
	if _, err := NewWriter(&bytes.Buffer{}, Options{Types: Types{Key: strings.Repeat("k", maxTypes-1)}}); err != nil {
		t.Error(err)
	}
}

func TestEverySplitSizeYieldsEveryRecordOnce(t *testing.T) {
	records := sample(120)
	for _, o := range []Options{{Codec: None}, {Codec: S2}, {Codec: Zstd}, {Types: typed}} {
		t.Run(o.Codec.String()+o.Types.Key, func(t *testing.T) {
			o.BlockBytes = 150
			file := write(t, o, records)
			for size := int64(1); size <= int64(len(file))+1; size++ {
				got, err := readSplit(file, size)
				if err != nil || !slices.Equal(got, records) {
					t.Fatalf("split size %d of %d: %d records of %d, error %v", size, len(file), len(got), len(records), err)
				}
			}
		})
	}
}

// A record may hold another record file with the same marker, blocks and all.
func TestFileInsideAFile(t *testing.T) {
	same := func() Options {
		return Options{BlockBytes: 300, Marker: strings.NewReader("the same marker.")}
	}
	inner := string(write(t, same(), sample(10)))
	records := []record{{"a", inner}, {"b", "x"}, {inner, inner}, {"c", "the same marker.the same marker."}}
	file := write(t, same(), records)
	for size := int64(1); size <= int64(len(file)); size++ {
		got, err := readSplit(file, size)
		if err != nil || !slices.Equal(got, records) {
			t.Fatalf("split size %d: %d records, error %v", size, len(got), err)
		}
	}
}

func TestAnyRecordsAnySplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(-1, -1, 60)
		records := rapid.SliceOf(rapid.Custom(func(t *rapid.T) record {
			return record{text.Draw(t, "key"), strings.Repeat(text.Draw(t, "value"), rapid.IntRange(0, 5).Draw(t, "times"))}
		})).Draw(t, "records")
		var file bytes.Buffer
		w, err := NewWriter(&file, Options{
			Codec:      rapid.SampledFrom(codecs).Draw(t, "codec"),
			BlockBytes: rapid.IntRange(1, 2000).Draw(t, "block"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := w.Append([]byte(r.Key), []byte(r.Value)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []record
		size := int64(file.Len())
		for off := int64(0); off < size; {
			n := rapid.Int64Range(1, size-off).Draw(t, "range")
			part, err := readRange(file.Bytes(), off, n, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part...)
			off += n
		}
		if !slices.Equal(got, records) {
			t.Fatalf("read %q, wrote %q", got, records)
		}
	})
}

func TestHugeRecordHasItsOwnBlock(t *testing.T) {
	big := strings.Repeat("0123456789", 300_000)
	for _, records := range [][]record{{{"big", big}, {"after", "y"}}, {{big, big}}, {{"before", "x"}, {"big", big}, {"after", "y"}}, {{"before", "x"}, {big, "big"}, {"after", "y"}}} {
		checkHuge(t, records)
	}
}

// checkHuge wants a record of three million bytes among others to be stored as it is, and read only where blocks may be so large.
func checkHuge(t *testing.T, records []record) {
	t.Helper()
	for _, c := range codecs {
		file := write(t, Options{Codec: c}, records)
		if len(file) < 3_000_000 {
			t.Errorf("%v: a huge record was compressed, to %d bytes", c, len(file))
		}
		got, err := readSplit(file, 1000)
		if err != nil || !slices.Equal(got, records) {
			t.Errorf("%v: %d records, error %v", c, len(got), err)
		}
		_, err = readRange(file, 0, int64(len(file)), Limits{MaxBlockBytes: 1 << 20})
		if err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%v: with a limit of 1 MiB: error %v", c, err)
		}
	}
}

func TestIncompressibleBlocksAreStoredRaw(t *testing.T) {
	noise := sample(400)
	for i := range noise {
		if i%4 == 0 {
			noise[i] = record{}
		}
	}
	for _, c := range []Codec{S2, Zstd} {
		plain, packed := write(t, Options{}, noise), write(t, Options{Codec: c}, noise)
		if len(packed) > len(plain) {
			t.Errorf("%v: %d bytes became %d", c, len(plain), len(packed))
		}
	}
}

func TestEmptyFile(t *testing.T) {
	file := write(t, DefaultOptions(), nil)
	if len(file) != fileHeaderBytes+blockHeaderBytes {
		t.Errorf("a file of no records has %d bytes", len(file))
	}
	if got, err := readSplit(file, 7); err != nil || len(got) != 0 {
		t.Errorf("read %d records, error %v", len(got), err)
	}
}

func TestNoAllocationPerRecord(t *testing.T) {
	file := write(t, Options{Codec: S2, BlockBytes: 4096}, sample(4000))
	allocs := testing.AllocsPerRun(5, func() {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)), 0, int64(len(file)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
		}
	})
	if allocs > 20 {
		t.Errorf("reading 4000 records allocates %v times", allocs)
	}
}
