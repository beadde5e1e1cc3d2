package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"io/fs"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A Call makes a call of the API, with the method's name, the request, and where the answer goes. Its errors have
// kinds.
type Call func(ctx context.Context, method string, req, resp any) error

// Config is what the dashboard needs.
type Config struct {
	Call Call
	// Reports holds reports of the laboratory, as millrace lab run --out writes them; nil means none.
	Reports fs.FS
	// Player makes the page that plays what the cluster's policies decided, which takes time to replay. If it is nil,
	// the page names the command that does so.
	Player func(ctx context.Context) ([]byte, error)
	// Timeout bounds the making of a page; 0 means 10 s.
	Timeout time.Duration
}

//go:embed pages assets
var files embed.FS

// A site serves the pages.
type site struct {
	cfg   Config
	pages *template.Template
	turn  chan struct{} // held while the page of the player is made
}

// New returns the dashboard.
func New(cfg Config) http.Handler {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	s := &site{cfg: cfg, turn: make(chan struct{}, 1)}
	s.pages = template.Must(template.New("").Funcs(funcs).ParseFS(files, "pages/*.html"))
	mux := http.NewServeMux()
	for pattern, look := range map[string]func(context.Context, *http.Request) (view, error){
		"/{$}": s.overview, "/jobs": s.jobs, "/jobs/{job}": s.job, "/jobs/{job}/log": s.log, "/nodes": s.nodes, "/queues": s.queues,
		"/network": s.network, "/files/{path...}": s.files, "/reports": s.reports,
	} {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, look) })
	}
	mux.HandleFunc("GET /assets/{name}", asset)
	mux.HandleFunc("GET /play", s.play)
	if cfg.Reports != nil {
		mux.Handle("GET /reports/", http.StripPrefix("/reports/", reportFiles(cfg.Reports)))
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, func(context.Context, *http.Request) (view, error) {
			return view{}, wire.Errorf(wire.NotFound, "there is no page %s here", r.URL.Path)
		})
	})
	return mux
}

// A view is a page before it is rendered: the template's name, the title, and what is shown.
type view struct {
	Page, Title string
	Data        any
	Still       bool // the page does not change by itself
}

// policy keeps a page from loading, sending to or being framed by anything else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// serve calls look for the content of a page and renders it.
func (s *site) serve(w http.ResponseWriter, r *http.Request, look func(context.Context, *http.Request) (view, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	status := http.StatusOK
	v, err := look(ctx, r)
	if err != nil {
		status = statusOf(err)
		v = view{Page: "error", Title: "Not to be had", Data: err.Error()}
	}
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, "frame", struct {
		view
		Reports bool
		Path    string
		Body    template.HTML
	}{v, s.cfg.Reports != nil, r.URL.Path, s.body(v)}); err != nil {
		http.Error(w, fmt.Sprintf("the page cannot be drawn: %v", err), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	send(w, r, status, b.Bytes())
}

// body renders the inside of a page.
func (s *site) body(v view) template.HTML {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, v.Page, v.Data); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(err.Error()) + "</p>") //nolint:gosec // escaped
	}
	return template.HTML(b.String()) //nolint:gosec // a template has made it
}

// send answers with a body that a browser may cache and revalidate: what has not changed is not sent again.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	sum := fnv.New64a()
	_, _ = sum.Write(body) // never fails
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sum.Sum64()))
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if status == http.StatusOK && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error only means that the browser has left
}

func statusOf(err error) int {
	switch wire.KindOf(err) {
	case wire.NotFound:
		return http.StatusNotFound
	case wire.Denied:
		return http.StatusForbidden
	case wire.Invalid:
		return http.StatusBadRequest
	case wire.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

var assetTypes = map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}

func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := assetTypes[name]
	body, err := files.ReadFile("assets/" + name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	if name == "style.css" {
		body = append(body, chart.Style...)
	}
	w.Header().Set("Content-Type", kind)
	send(w, r, http.StatusOK, body)
}

// ask makes a call.
func ask[Req, Resp any](ctx context.Context, s *site, method rpc.Method[Req, Resp], req Req) (resp Resp, err error) {
	err = s.cfg.Call(ctx, method.Name, req, &resp)
	return resp, err
}

// questions are what a page needs answers to. After the first error no more are asked.
type questions struct {
	site *site
	err  error
}

func get[Req, Resp any](ctx context.Context, q *questions, method rpc.Method[Req, Resp], req Req) (resp Resp) {
	if q.err == nil {
		resp, q.err = ask(ctx, q.site, method, req)
	}
	return resp
}

type none = struct{}
