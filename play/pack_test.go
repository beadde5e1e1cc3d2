package play

import (
	"compress/gzip"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler/drive"
)

// drawn is a recording of n attempts and up to half as many decisions and samples, which agrees with itself and is else as the dice fall.
func drawn(rng *rand.Rand, n int) *Recording {
	r := &Recording{Name: "drawn", End: 7, Racks: []string{"r0"}, Texts: []string{"because"}, Marks: []Mark{{3, "stop", "it"}}, Jobs: []Job{{Name: "j", Took: 2.5, Admit: -1}}}
	period := []int64{100, 1000, 3000}[rng.IntN(3)]
	for range n {
		a := &r.Attempts
		a.Job, a.Kind, a.Task = append(a.Job, rng.Int32N(4)), append(a.Kind, uint8(rng.IntN(3))), append(a.Task, rng.Int32N(9))
		a.Node, a.Place = append(a.Node, rng.Int32N(3)), append(a.Place, rng.Int32N(3))
		a.Start, a.Took = append(a.Start, rng.Int64N(3)*period/2+rng.Int64N(2)), append(a.Took, rng.Int64N(5000))
		a.Near, a.How, a.Away = append(a.Near, uint8(rng.IntN(4))), append(a.How, uint8(rng.IntN(12))), append(a.Away, rng.Int64N(1<<40))
	}
	starts, last := sumsOf(r.Attempts.Start), int64(0)
	for range min(n/2, 2000) {
		d := &r.Decisions
		do, attempt, job, at := uint8(rng.IntN(5)), rng.Int32N(int32(n)+1)-1, rng.Int32N(5)-1, last+rng.Int64N(300)
		if attempt >= 0 {
			job = r.Attempts.Job[attempt]
		}
		if attempt >= 0 && do == uint8(drive.Launch) {
			at = starts[attempt]
		}
		d.Do, d.Attempt, d.Job, d.At = append(d.Do, do), append(d.Attempt, attempt), append(d.Job, job), append(d.At, at-last)
		d.Text, d.Others = append(d.Text, rng.Int32N(6)), append(d.Others, rng.Int32N(4)-1)
		last = at
		list := make([]int32, 2*rng.IntN(4))
		for k := range list {
			list[k] = rng.Int32N(20)
		}
		r.Others = append(r.Others, list)
		net := &r.Net
		net.At, net.Rack, net.Congested = append(net.At, rng.Int64N(900)), append(net.Rack, rng.Int32N(3)), append(net.Congested, uint8(rng.IntN(2)))
		net.Up, net.Down = append(net.Up, rng.Int32N(1001)), append(net.Down, rng.Int32N(1001))
	}
	return r
}

// repacked packs recordings and reads them again.
func repacked(t rapid.TB, in ...*Recording) []*Recording {
	t.Helper()
	packed, err := Pack(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPackedComesOut: what is packed comes out as it went in, one recording or two, read as assets/unpack.js does.
func TestPackedComesOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		in := []*Recording{}
		for range rapid.IntRange(0, 2).Draw(rt, "recordings") {
			in = append(in, drawn(rng, rapid.IntRange(0, 40).Draw(rt, "attempts")))
		}
		if d := gocmp.Diff(in, repacked(rt, in...), cmpopts.EquateEmpty()); d != "" {
			rt.Error(d)
		}
	})
}

// TestManyAttemptsLoseDigits: of many attempts lengths are rounded down, and those that no decision is about have no task. Of one less all is whole.
func TestManyAttemptsLoseDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	fine, coarse := drawn(rng, fineAttempts), drawn(rng, fineAttempts+1)
	got, about := repacked(t, fine, coarse, fine), named(coarse.Decisions.Attempt, fineAttempts+1)
	for i := range coarse.Attempts.Job {
		coarse.Attempts.Took[i] -= coarse.Attempts.Took[i] % coarseGrain
		if !about[i] {
			coarse.Attempts.Task[i] = -1
		}
	}
	for i, want := range []*Recording{fine, coarse, fine} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("recording %d of %d attempts came out as another", i, len(want.Attempts.Job))
		}
	}
}

// TestExpectedIsSmall: of attempts that go as a reader expects, on machines that report in turn, next to nothing is left in a page.
func TestExpectedIsSmall(t *testing.T) {
	for _, period := range []int64{100, 250, 1000, 3000} {
		r, at := &Recording{}, int64(0)
		for i := range int32(4000) {
			node := i % 20
			start := int64(i/20)*period + int64(node)*period/20 + int64(node*node)%5
			a := &r.Attempts
			a.Job, a.Kind, a.Task = append(a.Job, i%3), append(a.Kind, 0), append(a.Task, i/3)
			a.Node, a.Place = append(a.Node, node), append(a.Place, 0)
			a.Start, a.Took = append(a.Start, start-at), append(a.Took, period)
			a.Near, a.How, a.Away = append(a.Near, 0), append(a.How, Done), append(a.Away, 0)
			at = start
		}
		text, err := packText([]*Recording{r})
		if err != nil || len(text) > 500 {
			t.Errorf("period %d: %d bytes for %d attempts, %v", period, len(text), len(r.Attempts.Job), err)
		}
		zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(zip)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := unpack(plain); err != nil || !reflect.DeepEqual(back[0].Attempts, r.Attempts) {
			t.Errorf("period %d: the text of a page holds other attempts, %v", period, err)
		}
	}
}
