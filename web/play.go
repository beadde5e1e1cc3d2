package web

import (
	"context"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// playTimeout bounds the replay of what was decided.
const playTimeout = time.Minute

// play serves the player, one replay at a time.
func (s *site) play(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Player == nil {
		s.serve(w, r, func(context.Context, *http.Request) (view, error) {
			return view{Page: "play", Title: "Player", Still: true}, nil
		})
		return
	}
	page, err := s.replay(r.Context())
	if err != nil {
		s.serve(w, r, func(context.Context, *http.Request) (view, error) { return view{}, err })
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	send(w, r, http.StatusOK, page)
}

func (s *site) replay(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, wire.Errorf(wire.Unavailable, "others look at the player: try again")
	}
	return s.cfg.Player(ctx)
}
