package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestGuard: only who has the word is let in; the browser keeps it, and it leaves the address.
func TestGuard(t *testing.T) {
	h := guard("open", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "word") {
			t.Errorf("the word is still in %s", r.URL)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	try := func(host, target, cookie string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = host
		if cookie != "" {
			r.Header.Set("Cookie", cookie)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
	for _, c := range []struct {
		host, target, cookie string
		want                 int
	}{
		{"127.0.0.1:5", "/", "", 403},
		{"127.0.0.1:5", "/?word=opem", "", 403},
		{"127.0.0.1:5", "/?word=", "millrace-word=", 403},
		{"127.0.0.1:5", "/jobs", "millrace-word=open", 418},
		{"localhost:5", "/jobs", "millrace-word=open", 418},
		{"evil.example:5", "/jobs", "millrace-word=open", 403},
		{"evil.example:5", "/?word=open", "", 403},
	} {
		if got := try(c.host, c.target, c.cookie); got.StatusCode != c.want {
			t.Errorf("%+v: %d", c, got.StatusCode)
		}
	}
	r := try("127.0.0.1:5", "/nodes?word=open", "")
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/nodes" {
		t.Errorf("%d to %s", r.StatusCode, r.Header.Get("Location"))
	}
	for _, target := range []string{"//evil.example/x?word=open", "///evil.example/x?word=open", `/\evil.example/x?word=open`, "/%5cevil.example/x?word=open"} {
		if got := try("127.0.0.1:5", target, "").Header.Get("Location"); got != "/evil.example/x" {
			t.Errorf("%s leads to %s", target, got)
		}
	}
	if c := r.Cookies(); len(c) != 1 || c[0].Value != "open" || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Errorf("cookies %v", c)
	}
}
