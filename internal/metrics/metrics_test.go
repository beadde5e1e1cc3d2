package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

func scrape(e *Exporter) (int, string) {
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Code, w.Body.String()
}

func TestScrape(t *testing.T) {
	n := 0.0
	e := New([]Family{
		{Name: "x_nodes", Help: "Nodes.", Labels: []string{"state"}},
		{Name: "x_bytes_total", Help: "Bytes.", Counter: true},
	}, func(_ context.Context, put Put) error {
		n++
		put("x_nodes", 3, `a "quoted" name`)
		put("x_bytes_total", 10*n)
		return nil
	})
	for _, want := range []string{"x_bytes_total 10\n", "x_bytes_total 20\n"} {
		code, body := scrape(e)
		for _, line := range []string{
			"# HELP x_nodes Nodes.\n# TYPE x_nodes gauge\n" + `x_nodes{state="a \"quoted\" name"} 3` + "\n",
			"# TYPE x_bytes_total counter\n" + want, "go_goroutines ", "process_resident_memory_bytes ",
		} {
			if code != 200 || !strings.Contains(body, line) {
				t.Errorf("status %d: %q is not in\n%s", code, line, body)
			}
		}
	}
}

// Half of the numbers would look like a cluster that has shrunk.
func TestNoHalfScrape(t *testing.T) {
	e := New([]Family{{Name: "x", Help: "X."}}, func(_ context.Context, put Put) error {
		put("x", 1)
		return errors.New("the loop does not answer")
	})
	if code, body := scrape(e); code != 503 || body != "the loop does not answer\n" {
		t.Errorf("status %d: %s", code, body)
	}
}

func TestUnknownFamily(t *testing.T) {
	for name, put := range map[string]func(Put){
		"no such name":    func(put Put) { put("y", 1) },
		"labels missing":  func(put Put) { put("x", 1) },
		"too many labels": func(put Put) { put("x", 1, "a", "b") },
	} {
		e := New([]Family{{Name: "x", Help: "X.", Labels: []string{"a"}}}, func(_ context.Context, p Put) error {
			put(p)
			return nil
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			scrape(e)
		}()
	}
}

func TestHealth(t *testing.T) {
	for err, want := range map[error]int{nil: 200, errors.New("stopping"): 503} {
		w := httptest.NewRecorder()
		if Health(w, err); w.Code != want {
			t.Errorf("%v: %d, want %d", err, w.Code, want)
		}
	}
}
