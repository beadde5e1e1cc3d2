package pipe

import (
	"net/http"
	"net/url"
	"testing"
)

func FuzzParseFetch(f *testing.F) {
	f.Add("7", "gen=1&off=0&len=10")
	f.Add("7", "gen=1&off=0&len=10&token=a%26b")
	f.Add("-1", "gen=1&off=9223372036854775807&len=1")
	f.Fuzz(func(t *testing.T, id, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/blocks/x", RawQuery: query}}
		r.SetPathValue("id", id)
		want, err := ParseFetch(r)
		if err != nil {
			return
		}
		if want.Off < 0 || want.Len <= 0 || want.Off+want.Len < want.Off {
			t.Errorf("range %d+%d", want.Off, want.Len)
		}
		again := &http.Request{Method: http.MethodGet}
		var perr error
		if again.URL, perr = url.Parse(want.Path()); perr != nil {
			t.Fatal(perr)
		}
		again.SetPathValue("id", again.URL.Path[len("/blocks/"):])
		if got, err := ParseFetch(again); err != nil || got != want {
			t.Errorf("%s: %+v, %v", again.URL, got, err)
		}
	})
}
