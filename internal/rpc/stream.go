package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"reflect"

	"github.com/millrace/millrace/internal/wire"
)

// A Stream is a connection that belongs to one transfer. What it carries counts as blocks.
type Stream struct {
	net.Conn
	In *bufio.Reader // read from here, since it may already hold bytes
}

// Read reads first what In holds.
func (s *Stream) Read(p []byte) (int, error) { return s.In.Read(p) }

type stream struct {
	rule  Rule
	serve func(ctx context.Context, c Caller, args []byte, s *Stream)
}

// HandleStream registers a transfer by name. The connection is closed when fn returns or the server is closed.
func HandleStream[Args any](s *Server, name string, rule Rule, fn func(ctx context.Context, c Caller, args Args, st *Stream)) {
	if _, taken := s.streams[name]; taken || rule == noRule {
		panic(fmt.Sprintf("rpc: stream %q is registered already, or has no rule", name))
	}
	s.routes = append(s.routes, Route{streamPath + name, rule, reflect.TypeFor[Args]()})
	s.streams[name] = stream{rule, func(ctx context.Context, c Caller, raw []byte, st *Stream) {
		var args Args
		if json.Unmarshal(raw, &args) != nil {
			return // checked before the upgrade
		}
		fn(ctx, c, args, st)
	}}
}

func (s *Server) serveStream(w http.ResponseWriter, r *http.Request) {
	c, err := s.identify(r, Block)
	st, known := s.streams[r.PathValue("name")]
	args := []byte(r.Header.Get(argsHeader))
	if err == nil && !known {
		err = wire.Errorf(wire.NotFound, "there is no stream %q here", r.PathValue("name"))
	}
	if err == nil {
		err = st.rule.Check(c)
	}
	if err == nil && !json.Valid(args) {
		err = wire.Errorf(wire.Invalid, "%s: arguments are not JSON", r.URL.Path)
	}
	if err != nil {
		s.Refused(c, r.PathValue("name"), nil, err)
		WriteError(w, err)
		return
	}
	conn, in, ok := s.upgrade(w, r, streamProto)
	if !ok {
		return
	}
	defer s.release(conn)
	st.serve(s.base, c, args, &Stream{conn, in})
}

// Stream opens a transfer on a connection of its own. The arguments, as JSON, must fit in an HTTP header: some tens
// of kilobytes. The transfer fails if ctx ends before it is open. After that ctx has no effect, and the caller
// closes the stream.
func (c *Client) Stream(ctx context.Context, addr, name string, args any) (*Stream, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, wire.Errorf(wire.Invalid, "stream %s: arguments cannot be encoded: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, in, err := c.upgrade(ctx, Peer{addr, Block}, streamPath+name, streamProto, raw)
	if err != nil {
		return nil, err
	}
	return &Stream{conn, in}, nil
}
