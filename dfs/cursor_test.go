package dfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// TestStreamsThatEndEarly: a replica that sends less than it should is unavailable, so that another is asked, and the error says where it ended.
func TestStreamsThatEndEarly(t *testing.T) {
	text := []byte("abcdef")
	b := wire.Block{ID: 1, Len: int64(len(text))}
	sums := binary.LittleEndian.AppendUint32(nil, pipe.Checksum(text))
	for what, x := range map[string]struct {
		body   io.Reader
		ask, n int
		words  string
	}{
		"all of it":          {bytes.NewReader(text), 6, 6, ""},
		"less than is asked": {bytes.NewReader(text), 8, 6, "on w1 ended early"},
		"less than is there": {bytes.NewReader(text[:3]), 6, 0, "chunk at 0: unexpected EOF"},
		"broken":             {io.MultiReader(bytes.NewReader(text[:1]), iotest.ErrReader(errors.New("odd"))), 6, 0, "chunk at 0: odd"},
	} {
		in, err := pipe.NewChecked(io.NopCloser(io.MultiReader(bytes.NewReader(sums), x.body)), b, 0, b.Len, "b")
		if err != nil {
			t.Fatal(err)
		}
		c := newCursor(b, wire.Place{Node: "w1"}, 0, b.Len, in, func() {}, time.Hour)
		n, err := c.read(make([]byte, x.ask), time.Hour)
		if n != x.n || c.off != int64(x.n) {
			t.Errorf("%s: %d bytes, at %d", what, n, c.off)
		}
		if (err == nil) != (x.words == "") || err != nil && (wire.KindOf(err) != wire.Unavailable || !strings.Contains(err.Error(), x.words)) {
			t.Errorf("%s: %v", what, err)
		}
		c.close()
	}
}
