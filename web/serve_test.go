package web

import (
	"context"
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPageThatCannotBeDrawn: a page whose template fails is an error in words, and a part that fails is told in its place.
func TestPageThatCannotBeDrawn(t *testing.T) {
	serve := func(templates string) *httptest.ResponseRecorder {
		s := &site{cfg: Config{Timeout: 1e9}, pages: template.Must(template.New("all").Parse(templates))}
		w := httptest.NewRecorder()
		s.serve(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), func(context.Context, *http.Request) (view, error) {
			return view{Page: "part"}, nil
		})
		return w
	}
	if w := serve(`{{define "part"}}x{{end}}`); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "the page cannot be drawn: ") {
		t.Errorf("without a frame: %d %q", w.Code, w.Body)
	}
	if w := serve(`{{define "frame"}}[{{.Body}}]{{end}}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "[<p>html/template: ") {
		t.Errorf("without the part: %d %q", w.Code, w.Body)
	}
}
