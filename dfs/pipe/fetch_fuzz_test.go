package pipe

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

func FuzzParseFetch(f *testing.F) {
	f.Add("7", "gen=1&off=0&len=10")
	f.Add("-1", "gen=1&off=9223372036854775807&len=1")
	f.Fuzz(func(t *testing.T, id, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/blocks/x", RawQuery: query}}
		r.SetPathValue("id", id)
		b, off, length, err := ParseFetch(r)
		if err != nil {
			return
		}
		if off < 0 || length <= 0 || off+length < off {
			t.Errorf("range %d+%d", off, length)
		}
		again := &http.Request{Method: http.MethodGet}
		var perr error
		if again.URL, perr = url.Parse(FetchPath(b, off, length)); perr != nil {
			t.Fatal(perr)
		}
		again.SetPathValue("id", again.URL.Path[len("/blocks/"):])
		if b2, off2, length2, err := ParseFetch(again); err != nil || b2 != (wire.Block{ID: b.ID, Gen: b.Gen}) || off2 != off || length2 != length {
			t.Errorf("%s: %v %d+%d, %v", again.URL, b2, off2, length2, err)
		}
	})
}
