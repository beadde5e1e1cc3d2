package attempt

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzParseMaps(f *testing.F) {
	f.Add("1.2")
	f.Add("0.18446744073709551615,7.1")
	f.Fuzz(func(t *testing.T, s string) {
		list := strings.Split(s, ",")
		maps, err := ParseMaps(list)
		if err == nil && (len(maps) != len(list) || len(maps) > MaxBatch) {
			t.Errorf("%d maps of %d words", len(maps), len(list))
		}
		for _, m := range maps {
			if m.Map < 0 {
				t.Errorf("map %d", m.Map)
			}
		}
	})
}

// A head is read as it was written, or refused.
func FuzzHead(f *testing.F) {
	f.Add(AppendHead(nil, &SegmentHead{Map: 3, Try: 4, Name: "map-00003-4"}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := readHead(bytes.NewReader(b)); err == nil && len(b) < 8 {
			t.Errorf("%x is taken for %+v", b, h)
		}
	})
}
