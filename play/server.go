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
	Traces     []string  `json:"traces"` // files that may be named
	Lectures   []Lecture `json:"lectures"`
}

// A Policy is a policy to choose, with its parameters. Usual are the values of those that are not given.
type Policy struct {
	Name    string            `json:"name"`
	Summary string            `json:"summary"`
	Source  string            `json:"source"`
	Usual   map[string]string `json:"usual,omitempty"`
	Params  []Param           `json:"params"`
}

// A Param is a parameter of a policy.
type Param struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Range   string `json:"range"`
	// Least and Most bound a slider; both 0: the page chooses.
	Least   float64  `json:"least,omitempty"`
	Most    float64  `json:"most,omitempty"`
	Doc     string   `json:"doc"`
	Choices []string `json:"choices,omitempty"`
}

// The limits of a playground.
const (
	maxScenario = 256 << 10
	runTimeout  = 60 * time.Second
)

// A Runner runs a scenario, which is JSON in the form of the files of sim run, until it is done or the context ends.
// While it runs it may report its progress, from one goroutine at a time. It returns what the page reads.
type Runner func(ctx context.Context, scenario []byte, tell func(Progress)) ([]byte, error)

// Progress is how far a run has come.
type Progress struct {
	Done int `json:"done"` // jobs, or runs of a sweep
	All  int `json:"all"`
}

// A Playground runs scenarios for its page, one at a time.
type Playground struct {
	choices []byte
	page    []byte
	turn    chan struct{}
}

// NewPlayground returns a page where a scenario is chosen, run and played. run returns recordings as Pack does. sweep
// gets a scenario with ranges of parameters, and returns a list of JSON with the name, the parameters and the report of
// each run.
func NewPlayground(c Choices, run, sweep Runner) http.Handler {
	offered, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings in lists
	}
	p := newPage("millrace playground", "Choose a workload, a cluster and two policies; run; watch who gets the next container, and why.")
	p.CSS += template.CSS(asset("playground.css"))
	p.Playground = template.JS(asset("controls.js") + asset("lecture.js") + asset("playground.js"))
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		panic(err) // into memory
	}
	g := &Playground{choices: offered, page: b.Bytes(), turn: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { sendPage(w, g.page) })
	mux.HandleFunc("GET /choices", func(w http.ResponseWriter, _ *http.Request) { send(w, http.StatusOK, g.choices) })
	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, run) })
	mux.HandleFunc("POST /sweep", func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, sweep) })
	return guarded(mux)
}

// NewPage serves one page.
func NewPage(page []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { sendPage(w, page) })
	return guarded(mux)
}

// guarded refuses requests of other sites' pages: they could name this machine by a name of their own, or post to it.
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

// serve runs a scenario, and streams its progress: lines of JSON, then one with the error, or with the number of bytes
// of the result, which follow it. Requests wait for their turn while another runs. A run ends when its client leaves.
func (g *Playground) serve(w http.ResponseWriter, r *http.Request, run Runner) {
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
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	say := func(line any) {
		_ = json.NewEncoder(w).Encode(line) // a browser that left needs no answer
		_ = http.NewResponseController(w).Flush()
	}
	result, err := g.inTurn(ctx, say, func() ([]byte, error) { return run(ctx, scenario, func(p Progress) { say(p) }) })
	if err != nil {
		say(map[string]string{"error": err.Error()})
		return
	}
	say(map[string]int{"bytes": len(result)})
	_, _ = w.Write(result)
}

// inTurn runs run when no other runs.
func (g *Playground) inTurn(ctx context.Context, say func(any), run func() ([]byte, error)) ([]byte, error) {
	select {
	case g.turn <- struct{}{}:
	default:
		say(map[string]bool{"waits": true})
		select {
		case g.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer func() { <-g.turn }()
	return run()
}
