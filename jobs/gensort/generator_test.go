package gensort

import (
	"bytes"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The first rows of gensort -a, as its users print them, and of TeraGen.
func TestFirstRows(t *testing.T) {
	tests := []struct {
		form Form
		want []string
	}{
		{ASCII, []string{
			"AsfAGHM5om  00000000000000000000000000000000  0000222200002222000022220000222200002222000000001111\r\n",
			"~sHd0jDv6X  00000000000000000000000000000001  77779999444488885555CCCC777755555555BBBB666644446666\r\n",
			"uI^EYm8s=|  00000000000000000000000000000002  CCCCFFFF777799995555FFFF11112222999988884444DDDDFFFF\r\n",
		}},
		{Binary, []string{
			"JimGrayRIP\x00\x1100000000000000000000000000000000\x88\x99\xaa\xbb" +
				"222200002222000022220000222200002222000000001111\xcc\xdd\xee\xff",
			"\x95\xe0\xe4\x82\x62\xb3\xed\xfe\x04\x47\x00\x1100000000000000000000000000000001\x88\x99\xaa\xbb" +
				"9999444488885555CCCC777755555555BBBB666644446666\xcc\xdd\xee\xff",
		}},
	}
	for _, tt := range tests {
		g := NewGenerator(Uint128{}, tt.form)
		for i, want := range tt.want {
			var rec [RecordSize]byte
			g.Next(&rec)
			if string(rec[:]) != want {
				t.Errorf("%v row %d =\n%q, want\n%q", tt.form, i, rec[:], want)
			}
		}
	}
}

// reference follows the layout in the words of the benchmark, digit by digit.
func reference(r, row Uint128, form Form) []byte {
	digits := fmt.Sprintf("%016X%016X", r.Hi, r.Lo)
	filler := func(from int) (s []byte) {
		for i := from; i < 32; i++ {
			s = append(s, bytes.Repeat([]byte{digits[i]}, 4)...)
		}
		return s
	}
	number := fmt.Sprintf("%016X%016X", row.Hi, row.Lo)
	if form == Binary {
		key := toBig(r).FillBytes(make([]byte, 16))[:KeySize]
		return fmt.Appendf(nil, "%s\x00\x11%s\x88\x99\xaa\xbb%s\xcc\xdd\xee\xff", key, number, filler(20))
	}
	key := append(base95(r.Hi, 8), base95(r.Lo, 2)...)
	return fmt.Appendf(nil, "%s  %s  %s\r\n", key, number, filler(19))
}

func base95(x uint64, n int) (s []byte) {
	v, digit := new(big.Int).SetUint64(x), new(big.Int)
	for range n {
		v.DivMod(v, big.NewInt(95), digit)
		s = append(s, ' '+byte(digit.Int64()))
	}
	return s
}

func TestRecordAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := drawUint128(t, "row")
		form := rapid.SampledFrom([]Form{Binary, ASCII}).Draw(t, "form")
		var rec [RecordSize]byte
		NewGenerator(row, form).Next(&rec)
		want := reference(step.apply(skip(row)), row, form)
		if !bytes.Equal(rec[:], want) {
			t.Fatalf("row %v, %v:\n%q, want\n%q", row, form, rec[:], want)
		}
	})
}

func TestPiecesConcatenateToTheWhole(t *testing.T) {
	const rows = 300
	for _, form := range []Form{Binary, ASCII} {
		whole := make([]byte, rows*RecordSize)
		NewGenerator(Uint128{}, form).Fill(whole)
		for at := range uint64(rows + 1) {
			g := NewGenerator(Uint128{Lo: at}, form)
			tail := make([]byte, (rows-at)*RecordSize)
			g.Fill(tail)
			if !bytes.Equal(tail, whole[at*RecordSize:]) {
				t.Fatalf("%v: rows from %d differ from the whole", form, at)
			}
			if g.Row() != (Uint128{Lo: rows}) {
				t.Fatalf("%v: next row is %v, want %d", form, g.Row(), rows)
			}
		}
	}
}

func TestRowNumberCarries(t *testing.T) {
	g := NewGenerator(Uint128{Lo: ^uint64(0)}, Binary)
	var rec [RecordSize]byte
	g.Next(&rec)
	g.Next(&rec)
	if got := string(rec[rowAt:afterRow]); got != "00000000000000010000000000000000" {
		t.Errorf("row 2^64 is numbered %s", got)
	}
}

func TestFillRefusesPartOfARecord(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Fill of 150 bytes did not panic")
		}
	}()
	NewGenerator(Uint128{}, Binary).Fill(make([]byte, 150))
}

func BenchmarkFill(b *testing.B) {
	for _, form := range []Form{Binary, ASCII} {
		b.Run(form.String()+"/1MB", func(b *testing.B) {
			buf := make([]byte, 10_000*RecordSize)
			g := NewGenerator(Uint128{}, form)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				g.Fill(buf)
			}
		})
	}
}

func BenchmarkSeek(b *testing.B) {
	for b.Loop() {
		NewGenerator(Uint128{Lo: 0x5555_5555_5555}, Binary)
	}
}
