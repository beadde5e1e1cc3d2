package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net"
	"net/http"
	"time"
)

// Choices are what a playground offers.
type Choices struct {
	Policies   []Policy  `json:"policies"`
	Admissions []Policy  `json:"admissions"`
	Models     []string  `json:"models"` // of generated workloads
	Lectures   []Lecture `json:"lectures"`
}

// A Policy is one that can be chosen, with its parameters. Usual are those that it has where none are given.
type Policy struct {
	Name    string            `json:"name"`
	Summary string            `json:"summary"`
	Source  string            `json:"source"`
	Usual   map[string]string `json:"usual,omitempty"`
	Params  []Param           `json:"params"`
}

// A Param is a parameter of a policy.
type Param struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default string   `json:"default"`
	Range   string   `json:"range"`
	Doc     string   `json:"doc"`
	Choices []string `json:"choices,omitempty"`
}

// What a playground takes and gives.
const (
	maxScenario = 256 << 10
	runTimeout  = 60 * time.Second
)

// A Playground runs scenarios for its page, one at a time.
type Playground struct {
	choices []byte
	run     func(ctx context.Context, scenario []byte) ([]byte, error)
	page    []byte
	turn    chan struct{}
}

// NewPlayground returns a page where a scenario is chosen, run and played. run is given the scenario as JSON, in the form of the
// files of sim run, and a context that ends when it takes too long; it returns recordings as JSON.
func NewPlayground(c Choices, run func(ctx context.Context, scenario []byte) ([]byte, error)) http.Handler {
	offered, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings in lists
	}
	p := newPage("millrace playground", "Choose a workload, a cluster and two policies; run; watch who gets the next container, and why.")
	p.CSS += template.CSS(asset("playground.css"))
	p.Playground = template.JS(asset("playground.js"))
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		panic(err) // into memory
	}
	g := &Playground{choices: offered, run: run, page: b.Bytes(), turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { sendPage(w, g.page) })
	mux.HandleFunc("GET /choices", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, g.choices) })
	mux.HandleFunc("POST /run", g.serveRun)
	return guarded(mux)
}

// NewPage serves one page.
func NewPage(page []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { sendPage(w, page) })
	return guarded(mux)
}

// guarded keeps pages of others away: they could name this machine by a name of their own, or post to it.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); ip == nil && host != "localhost" {
			http.Error(w, "this page answers to its address, not to a name", http.StatusForbidden)
			return
		}
		if from := r.Header.Get("Origin"); from != "" && from != "http://"+r.Host {
			http.Error(w, "this page answers to itself only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func sendPage(w http.ResponseWriter, page []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(page) // a browser that left needs no answer
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func sendError(w http.ResponseWriter, status int, err error) {
	body, _ := json.Marshal(map[string]string{"error": err.Error()})
	send(w, status, body)
}

// serveRun runs a scenario. Those who come while another runs wait for their turn.
func (g *Playground) serveRun(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		sendError(w, http.StatusUnsupportedMediaType, errors.New("send the scenario as application/json"))
		return
	}
	scenario, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxScenario))
	if err != nil {
		sendError(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the scenario: %w", err))
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), runTimeout, fmt.Errorf("the run took longer than %v: take fewer jobs, nodes or hours", runTimeout))
	defer cancel()
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		sendError(w, http.StatusServiceUnavailable, context.Cause(ctx))
		return
	}
	body, err := g.run(ctx, scenario)
	if err != nil {
		sendError(w, http.StatusUnprocessableEntity, err)
		return
	}
	send(w, http.StatusOK, body)
}
