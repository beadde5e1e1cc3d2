package token

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

var (
	blk    = wire.Block{ID: 7, Gen: 3}
	ann    = rpc.Caller{User: "ann"}
	told   = []wire.BlockKey{{ID: 1, Secret: []byte("one"), Age: time.Minute, Life: time.Hour}, {ID: 2, Secret: []byte("two"), Life: time.Hour}}
	signer = NewKey(1, told[0].Secret)
)

func claim() Claim {
	return Claim{Block: blk.ID, Gen: blk.Gen, Op: Read, Holder: Holder(ann), Until: 10 * time.Minute}
}

func ringWith(keys []wire.BlockKey) *Ring {
	r := &Ring{}
	r.Add(keys, 0)
	return r
}

// TestCheck: a token is good for its block, generation, operation, holder and time, and for nothing else.
func TestCheck(t *testing.T) {
	good := signer.Sign(claim())
	change := func(fn func(c *Claim)) string {
		c := claim()
		fn(&c)
		return signer.Sign(c)
	}
	for name, tt := range map[string]struct {
		text string
		b    wire.Block
		op   Op
		c    rpc.Caller
		now  time.Duration
		want error
	}{
		"good":                        {good, blk, Read, ann, 0, nil},
		"at its end":                  {good, blk, Read, ann, 9 * time.Minute, nil},
		"passed on by a node":         {good, blk, Read, rpc.Caller{Node: "w1"}, 0, nil},
		"a writer reads":              {change(func(c *Claim) { c.Op = Write }), blk, Read, ann, 0, nil},
		"none":                        {"", blk, Read, ann, 0, wire.Denied},
		"noise":                       {"AAAA", blk, Read, ann, 0, wire.Denied},
		"too long":                    {strings.Repeat("A", 10_000), blk, Read, ann, 0, wire.Denied},
		"another block":               {good, wire.Block{ID: 8, Gen: 3}, Read, ann, 0, wire.Denied},
		"a higher generation":         {good, wire.Block{ID: 7, Gen: 4}, Read, ann, 0, wire.Denied},
		"a node, a higher generation": {good, wire.Block{ID: 7, Gen: 4}, Read, rpc.Caller{Node: "w1"}, 0, wire.Denied},
		"a reader writes":             {good, blk, Write, ann, 0, wire.Denied},
		"no operation":                {change(func(c *Claim) { c.Op = 0 }), blk, Read, ann, 0, wire.Denied},
		"another holder":              {good, blk, Read, rpc.Caller{User: "bob"}, 0, wire.Denied},
		"a task of the holder":        {good, blk, Read, rpc.Caller{User: "ann", Job: "j1"}, 0, wire.Denied},
		"a holder cut short":          {change(func(c *Claim) { c.Holder = "user " + strings.Repeat("a", 300) }), blk, Read, rpc.Caller{User: strings.Repeat("a", 300)}, 0, wire.Denied},
		"ended":                       {good, blk, Read, ann, 9*time.Minute + 2*time.Second, wire.Stale},
		"of an unknown key":           {NewKey(9, told[0].Secret).Sign(claim()), blk, Read, ann, 0, wire.Unavailable},
		"signed with another key":     {NewKey(1, told[1].Secret).Sign(claim()), blk, Read, ann, 0, wire.Denied},
	} {
		err := ringWith(told).Check(tt.text, tt.b, tt.op, tt.c, tt.now)
		if tt.want == nil && err != nil || tt.want != nil && (err == nil || !errors.Is(err, tt.want)) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// TestFlippedBits: no bit of a token can be changed.
func TestFlippedBits(t *testing.T) {
	r, good := ringWith(told), signer.Sign(claim())
	for i := range good {
		for _, c := range "Aa0-_" {
			bad := good[:i] + string(c) + good[i+1:]
			if bad != good && r.Check(bad, blk, Read, ann, 0) == nil {
				a, _ := parse(good)
				if b, ok := parse(bad); !ok || string(a.body) != string(b.body) || string(a.mac) != string(b.mac) { // the last character has spare bits
					t.Errorf("character %d became %c, and the token is taken", i, c)
				}
			}
		}
	}
}

// TestRing: keys are forgotten when nothing they signed is good, and there are never more than so many.
func TestRing(t *testing.T) {
	r := ringWith(told)
	r.Add(told, time.Minute) // told again: their age counts from the first time
	if got := r.Newest(); got != 2 {
		t.Errorf("newest key %d", got)
	}
	r.Add([]wire.BlockKey{{ID: 3, Secret: []byte("three"), Life: 2 * time.Hour}}, 59*time.Minute+time.Second)
	if err := r.Check(signer.Sign(claim()), blk, Read, ann, 0); wire.KindOf(err) != wire.Unavailable || err == nil {
		t.Errorf("a key past its life: %v", err)
	}
	for id := range uint64(100) {
		r.Add([]wire.BlockKey{{ID: id + 10, Life: time.Hour}}, time.Hour)
	}
	if len(r.keys) != maxKeys || r.Newest() != 109 {
		t.Errorf("%d keys, the newest %d", len(r.keys), r.Newest())
	}
}

// FuzzCheck: no text passes but what was signed.
func FuzzCheck(f *testing.F) {
	f.Add(signer.Sign(claim()))
	f.Add("")
	f.Add("AQAAAAAAAAAB")
	r := ringWith(told)
	good, _ := parse(signer.Sign(claim()))
	f.Fuzz(func(t *testing.T, text string) {
		if r.Check(text, blk, Read, ann, 0) != nil {
			return
		}
		if p, _ := parse(text); string(p.body) != string(good.body) {
			t.Errorf("%q was taken", text)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	for b.Loop() {
		signer.Sign(claim())
	}
}

func BenchmarkCheck(b *testing.B) {
	r, text := ringWith(told), signer.Sign(claim())
	for b.Loop() {
		if err := r.Check(text, blk, Read, ann, 0); err != nil {
			b.Fatal(err)
		}
	}
}
