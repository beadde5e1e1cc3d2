package play_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/play"
)

func ask(h http.Handler, method, path, host string, header map[string]string, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = host
	for k, v := range header {
		r.Header.Set(k, v)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

// TestPlayground: it offers what it was given, runs what it is sent, says what was wrong with it, and answers nobody who comes by another name or from another page.
func TestPlayground(t *testing.T) {
	given := play.Choices{Policies: []play.Policy{{Name: "fair"}}, Models: []string{"fb"}, Lectures: play.Lectures()}
	runner := func(what string) play.Runner {
		return func(_ context.Context, scenario []byte, tell func(play.Progress)) ([]byte, error) {
			if string(scenario) == "bad" {
				return nil, errors.New("no such policy")
			}
			tell(play.Progress{Done: 3, All: 7})
			return append([]byte(what+" "), scenario...), nil
		}
	}
	g := play.NewPlayground(given, runner("ran"), runner("swept"))
	json1 := map[string]string{"Content-Type": "application/json; charset=utf-8"}
	for _, c := range []struct {
		method, path, host string
		header             map[string]string
		body               string
		code               int
		want               string
	}{
		{"GET", "/", "127.0.0.1:7", nil, "", 200, "millrace playground"},
		{"GET", "/", "127.0.0.1:7", nil, "", 200, "<script>// The controls of the playground"},
		{"GET", "/", "localhost", nil, "", 200, "millrace playground"},
		{"GET", "/", "[::1]:7", nil, "", 200, "millrace playground"},
		{"GET", "/none", "127.0.0.1:7", nil, "", 404, ""},
		{"GET", "/", "evil.example:7", nil, "", 403, "not to a name"},
		{"POST", "/run", "127.0.0.1:7", map[string]string{"Content-Type": "application/json", "Origin": "http://evil.example"}, "{}", 403, "itself only"},
		{"POST", "/run", "127.0.0.1:7", map[string]string{"Content-Type": "application/json", "Origin": "http://127.0.0.1:7"}, "{}", 200, "{\"done\":3,\"all\":7}\n{\"bytes\":6}\nran {}"},
		{"POST", "/run", "127.0.0.1:7", json1, "{}", 200, "{\"done\":3,\"all\":7}\n{\"bytes\":6}\nran {}"},
		{"POST", "/run", "127.0.0.1:7", map[string]string{"Content-Type": "text/plain"}, "{}", 415, "application/json"},
		{"POST", "/run", "127.0.0.1:7", nil, "{}", 415, "application/json"},
		{"POST", "/run", "127.0.0.1:7", json1, "bad", 200, "{\"error\":\"no such policy\"}\n"},
		{"POST", "/sweep", "127.0.0.1:7", json1, "{}", 200, "{\"bytes\":8}\nswept {}"},
		{"POST", "/sweep", "127.0.0.1:7", nil, "{}", 415, "application/json"},
		{"POST", "/run", "127.0.0.1:7", json1, strings.Repeat("x", 257<<10), 413, "the scenario"},
		{"GET", "/run", "127.0.0.1:7", nil, "", 405, ""},
	} {
		rec := ask(g, c.method, c.path, c.host, c.header, c.body)
		if rec.Code != c.code || !strings.Contains(rec.Body.String(), c.want) {
			t.Errorf("%s %s at %s with %v: %d %.200s", c.method, c.path, c.host, c.header, rec.Code, rec.Body)
		}
		if rec.Code == 200 && rec.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %v", c.method, c.path, rec.Header())
		}
	}
	for _, c := range []string{"/", "/choices"} {
		if rec := ask(g, "GET", c, "127.0.0.1:7", nil, ""); rec.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", c, rec.Header())
		}
	}
	style, err := os.ReadFile("assets/playground.css")
	if err != nil || !strings.Contains(ask(g, "GET", "/", "127.0.0.1:7", nil, "").Body.String(), string(style)) {
		t.Errorf("the page has no style of its own, %v", err)
	}
	var got play.Choices
	if err := json.Unmarshal(ask(g, "GET", "/choices", "127.0.0.1:7", nil, "").Body.Bytes(), &got); err != nil || got.Policies[0].Name != "fair" || len(got.Lectures) != len(given.Lectures) {
		t.Errorf("%+v, %v", got, err)
	}
	page := play.NewPage([]byte("<p>a day</p>"))
	if rec := ask(page, "GET", "/", "127.0.0.1:7", nil, ""); rec.Body.String() != "<p>a day</p>" || !strings.Contains(rec.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s %v", rec.Body, rec.Header())
	}
	if rec := ask(page, "GET", "/", "evil.example", nil, ""); rec.Code != 403 {
		t.Errorf("%d", rec.Code)
	}
}

// TestPlaygroundTurns: runs go one at a time; who waits is told so, who waits for a minute is told to take less, and so is a run that takes as long.
// A run ends when its reader goes away, and the next has its turn.
func TestPlaygroundTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := 0 // one goroutine at a time may touch it, which is what is tried
		runner := func(ctx context.Context, scenario []byte, _ func(play.Progress)) ([]byte, error) {
			if now++; now > 1 {
				t.Error("two runs at once")
			}
			defer func() { now-- }()
			long, deaf := strings.CutPrefix(string(scenario), "deaf ")
			d, err := time.ParseDuration(long)
			if err != nil {
				return nil, err
			}
			if deaf {
				ctx = context.WithoutCancel(ctx)
			}
			select {
			case <-time.After(d):
				return []byte("{}"), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		g := play.NewPlayground(play.Choices{}, runner, runner)
		ask := func(ctx context.Context, d string) <-chan string {
			c := make(chan string, 1)
			go func() {
				r := httptest.NewRequestWithContext(ctx, "POST", "/run", strings.NewReader(d))
				r.Host = "127.0.0.1:7"
				r.Header.Set("Content-Type", "application/json")
				rec := httptest.NewRecorder()
				g.ServeHTTP(rec, r)
				c <- rec.Body.String()
			}()
			synctest.Wait()
			return c
		}
		run := func(d string) <-chan string { return ask(t.Context(), d) }
		const done, waits = "{\"bytes\":2}\n{}", "{\"waits\":true}\n"
		first, next := run("59s"), run("1ns")
		if a, b := <-first, <-next; a != done || b != waits+done {
			t.Errorf("%q, %q", a, b)
		}
		if a := <-run("2h"); !strings.Contains(a, "longer than 1m0s: take fewer jobs") {
			t.Errorf("%q", a)
		}
		first, next = run("deaf 61s"), run("1ns")
		if a, b := <-first, <-next; a != done || !strings.HasPrefix(b, waits+`{"error":`) || !strings.Contains(b, "longer than 1m0s") {
			t.Errorf("%q, %q", a, b)
		}
		ctx, leave := context.WithCancel(t.Context())
		gone, next := ask(ctx, "59s"), run("1ns")
		began := time.Now()
		leave()
		if a, b := <-gone, <-next; !strings.Contains(a, context.Canceled.Error()) || b != waits+done || time.Since(began) > time.Second {
			t.Errorf("%q, %q after %v", a, b, time.Since(began))
		}
	})
}

// TestLectures: each has a title, a text without line ends inside a paragraph, and a scenario.
func TestLectures(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range play.Lectures() {
		if l.Name == "" || strings.ContainsAny(l.Name[:1], "0123456789") || seen[l.Name] || l.Title == "" || strings.HasPrefix(l.Title, "#") || !json.Valid(l.Scenario) ||
			strings.Contains(strings.ReplaceAll(l.Text, "\n\n", ""), "\n") || strings.Contains(l.Text, "```") {
			t.Errorf("%+v", l)
		}
		seen[l.Name] = true
	}
	if len(seen) == 0 || !strings.Contains(play.Example(), "def ") {
		t.Error(seen, play.Example())
	}
}
