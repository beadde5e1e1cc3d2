package web

import (
	"context"
	"io/fs"
	"net/http"

	"github.com/millrace/millrace/internal/wire"
)

// reportsData lists reports of the laboratory.
type reportsData struct{ Pages []string }

// maxReports bounds the list.
const maxReports = 1000

func (s *site) reports(context.Context, *http.Request) (view, error) {
	d := reportsData{}
	if s.cfg.Reports == nil {
		return view{Page: "reports", Title: "Reports", Data: d, Still: true}, nil
	}
	err := fs.WalkDir(s.cfg.Reports, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && len(name) > 5 && name[len(name)-5:] == ".html" && len(d.Pages) < maxReports {
			d.Pages = append(d.Pages, name)
		}
		return nil // what cannot be read is not shown
	})
	if err != nil {
		return view{}, wire.Errorf(wire.Internal, "reports: %w", err)
	}
	return view{Page: "reports", Title: "Reports", Data: d, Still: true}, nil
}

// reportFiles serves reports. They come from a directory and are not trusted: they may draw themselves and do nothing
// else.
func reportFiles(dir fs.FS) http.Handler {
	h := http.FileServerFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; sandbox allow-popups")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		h.ServeHTTP(w, r)
	})
}
