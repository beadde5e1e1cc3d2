package jobs_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/jobs/gensort"
)

// TestTeraGenIsHadoops: the checksum of a million rows is the one that Hadoop's
// TeraValidate prints for its own TeraGen, whatever the tasks.
func TestTeraGenIsHadoops(t *testing.T) {
	b := newBed(t)
	got, _ := b.run(setup{memory: 16 << 20, workers: 3}, "teragen", "--rows", "1000000", "--split-bytes", "1234560")
	var sum gensort.Summary
	if err := sum.Add([]byte(got)); err != nil {
		t.Fatal(err)
	}
	if sum.Records != 1_000_000 || sum.Checksum.String() != "7a27e2d0d55de" {
		t.Errorf("%d rows with checksum %s, want 1000000 with 7a27e2d0d55de", sum.Records, sum.Checksum)
	}
	var want bytes.Buffer
	rows := make([]byte, 100*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{}, gensort.Binary).Fill(rows)
	want.Write(rows)
	if !strings.HasPrefix(got, want.String()) {
		t.Error("the first hundred rows are not the generator's")
	}
}

func TestTeraGenRanges(t *testing.T) {
	b := newBed(t)
	for _, form := range []struct {
		flags []string
		form  gensort.Form
	}{{nil, gensort.Binary}, {[]string{"--ascii"}, gensort.ASCII}} {
		want := make([]byte, 777*gensort.RecordSize)
		gensort.NewGenerator(gensort.Uint128{Lo: 123_456}, form.form).Fill(want)
		got, _ := b.run(setup{workers: 4}, "teragen", append(form.flags, "--rows", "777", "--start", "123456", "--split-bytes", "800")...)
		same(t, named(fmt.Sprint(form.flags)), string(want), got)
	}
}

// TestTeraSortAgainstASort: rows in the order of their keys, and by valsort's rules
// the same rows as before.
func TestTeraSortAgainstASort(t *testing.T) {
	const rows = 30_000
	data := make([]byte, rows*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{Lo: 99}, gensort.Binary).Fill(data)
	copy(data[:5*gensort.RecordSize], data[7*gensort.RecordSize:]) // some keys twice
	var before gensort.Summary
	if err := before.Add(data); err != nil {
		t.Fatal(err)
	}
	b := newBed(t)
	in := b.write("in/rows", data)

	sorted := slices.Collect(slices.Chunk(slices.Clone(data), gensort.RecordSize))
	slices.SortStableFunc(sorted, func(x, y []byte) int {
		return bytes.Compare(x[:gensort.KeySize], y[:gensort.KeySize])
	})
	want := string(bytes.Join(sorted, nil))
	for _, s := range setups() {
		got, _ := b.run(s, "terasort", "--input", in, "--split-bytes", "400000")
		var after gensort.Summary
		if err := after.Add([]byte(got)); err != nil {
			t.Fatal(err)
		}
		if !after.Sorted() || after.Records != before.Records || after.Checksum != before.Checksum {
			t.Errorf("%v: %d rows, checksum %s, %d out of order; want %d, %s, 0",
				s, after.Records, after.Checksum, after.Unordered, before.Records, before.Checksum)
		}
		same(t, s, want, got)
	}
}

func TestTeraValidate(t *testing.T) {
	b := newBed(t)
	data := make([]byte, 5000*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{}, gensort.Binary).Fill(data)
	sorted, _ := b.run(setup{}, "terasort", "--input", b.write("rows", data))
	var sum gensort.Summary
	if err := sum.Add(data); err != nil {
		t.Fatal(err)
	}

	half := len(sorted) / 2
	b.write("good/part-0", []byte(sorted[:half]))
	b.write("good/part-1", []byte(sorted[half:]))
	for _, s := range setups() {
		s.reducers = 0
		got, _ := b.run(s, "teravalidate", "--input", b.path("good"), "--split-bytes", "30000")
		same(t, s, fmt.Sprintf("rows\t5000\nchecksum\t%s\nduplicate_keys\t0\n", sum.Checksum), got)
	}

	b.write("swapped/part-0", []byte(sorted[half:])) // each file is sorted, the whole is not
	b.write("swapped/part-1", []byte(sorted[:half]))
	for name, words := range map[string][]string{
		"swapped": {"not sorted", "1 of 5000", "row 2500"},
		"rows":    {"not sorted"},
	} {
		_, _, err := b.try(setup{}, "teravalidate", "--input", b.path(name))
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error lacks %q: %v", name, w, err)
			}
		}
	}
	_, _, err := b.try(setup{}, "teravalidate", "--input", b.write("cut", data[:150]))
	if err == nil || !strings.Contains(err.Error(), "150 bytes are not a whole number of 100-byte records") {
		t.Errorf("half a row: %v", err)
	}
}
