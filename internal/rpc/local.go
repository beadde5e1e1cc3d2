package rpc

import (
	"context"
	"encoding/json"

	"github.com/millrace/millrace/internal/wire"
)

// HandleFresh is Handle for methods that make a new answer for each caller and share it with nobody, so that Local
// can pass it on as it is. Encoding and decoding an answer of thousands of rows costs more than making it.
func HandleFresh[Req, Resp any](s *Server, m Method[Req, Resp], fn func(ctx context.Context, c Caller, req Req) (Resp, error)) {
	do := handle(s, m, false, fn)
	known := s.methods[m.Name]
	known.here = func(ctx context.Context, c Caller, req, resp any) (err error) {
		r, ok := req.(Req)
		to, fits := resp.(*Resp)
		if !ok || !fits {
			return wire.Errorf(wire.Invalid, "%s: a request of %T, an answer of %T", m.Name, req, resp)
		}
		*to, err = do(ctx, c, r)
		return err
	}
	s.methods[m.Name] = known
}

// Local calls a method in the name of a caller without a connection, like a plain HTTP request.
func (s *Server) Local(ctx context.Context, c Caller, name string, req, resp any) (err error) {
	m, err := s.find(c, []byte(name))
	if err != nil {
		return err
	}
	if m.here != nil {
		defer func() {
			if v := recover(); v != nil {
				err = s.panicked(m, v)
			}
		}()
		return m.here(ctx, c, req, resp)
	}
	body, err := json.Marshal(req)
	if err != nil {
		return wire.Errorf(wire.Invalid, "%s: request cannot be encoded: %w", name, err)
	}
	out, _, err := s.run(ctx, c, m, body, 0)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, resp); err != nil {
		return wire.Errorf(wire.Corrupt, "%s: answer is not understood: %w", name, err)
	}
	return nil
}
