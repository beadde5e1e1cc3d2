package webhdfs

import (
	"context"
	"io"
	"net/http"
	"time"
)

// send sends a request, and cancels it, and the reading of its answer, when nothing has moved for too long.
func (s *Service) send(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watch{ctx: ctx, cancel: cancel, stall: s.cfg.Stall}
	w.timer = time.AfterFunc(w.stall, func() { cancel(errStall) })
	if req.Body != nil {
		req.Body = &taken{req.Body, w}
	}
	resp, err := s.http.Do(req.WithContext(ctx))
	w.timer.Stop()
	if err != nil {
		err = w.why(err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &watched{resp.Body, w}
	return resp, nil
}

// A watch waits for something to move.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration
	timer  *time.Timer
}

// why returns errStall for what came of it.
func (w *watch) why(err error) error {
	if context.Cause(w.ctx) == errStall { //nolint:errorlint // it is given as it is
		return errStall
	}
	return err
}

// watched is the body of an answer. Only while it is read does somebody wait for the server.
type watched struct {
	io.ReadCloser
	w *watch
}

func (b *watched) Read(p []byte) (int, error) {
	b.w.timer.Reset(b.w.stall)
	n, err := b.ReadCloser.Read(p)
	b.w.timer.Stop()
	if err != nil && err != io.EOF { //nolint:errorlint // readers promise it bare
		err = b.w.why(err)
	}
	return n, err
}

func (b *watched) Close() error {
	b.w.timer.Stop()
	b.w.cancel(nil)
	return b.ReadCloser.Close()
}

// taken is the body of a request. While it is read, it is the writer who is waited for, and not the server.
type taken struct {
	io.ReadCloser
	w *watch
}

func (b *taken) Read(p []byte) (int, error) {
	b.w.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	b.w.timer.Reset(b.w.stall)
	return n, err
}
