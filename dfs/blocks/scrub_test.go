package blocks

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestScrub: rot that nobody reads is found within a period, once, is put aside and told to the name service and to the log; what is whole stays. Reading keeps
// to its rate.
func TestScrub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := memdisk.New()
		store := openOn(t, d)
		var list []wire.Block
		for id := range wire.BlockID(3) {
			b := wire.Block{ID: id + 1, Gen: 1, Len: 10 * pipe.ChunkSize}
			if err := put(store, b); err != nil {
				t.Fatal(err)
			}
			list = append(list, b)
		}
		store.changes.take()
		begin := time.Now()
		found := map[wire.BlockID][]time.Duration{}
		s := NewService(store, Config{Node: "n1", ScrubPeriod: 400 * time.Hour, ScrubRate: pipe.ChunkSize, Event: func(e Event) {
			if e.What != "quarantined" || e.Err == nil {
				t.Errorf("%+v", e)
			}
			found[e.Block] = append(found[e.Block], time.Since(begin).Round(time.Second))
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.scrub(ctx); close(done) }()
		for i, b := range []wire.Block{list[1], list[2]} { // the second after the first round
			time.Sleep(time.Duration(i) * 150 * time.Hour)
			f, err := d.Edit(dirOf(b) + "/" + fileName(b))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte("rot"), 9*pipe.ChunkSize); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2000 * time.Hour)
		cancel()
		<-done
		// At a chunk a second, 20 chunks take some 20 s.
		if at := found[2]; len(at) != 1 || at[0] < 100*time.Hour+15*time.Second || at[0] > 100*time.Hour+time.Minute {
			t.Errorf("the first rot was found after %v", at)
		}
		if at := found[3]; len(at) != 1 || at[0] < 500*time.Hour || at[0] > 501*time.Hour {
			t.Errorf("the second rot was found after %v", at)
		}
		if got := store.List(); len(found) != 2 || !slices.Equal(got, list[:1]) {
			t.Errorf("%v, and %v are left", found, got)
		}
		if n := store.changes.take(); len(n.Corrupt) != 2 {
			t.Errorf("reported %+v", n)
		}
	})
}
