package rpc

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// ErrStranger marks a peer with another key, or with no key while we have one, or the other way round. Waiting does
// not help.
var ErrStranger = errors.New("it is not of this cluster")

// unanswered returns the error for a peer that did not answer, or not in our protocol.
func unanswered(addr string, err error) error {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		err = fmt.Errorf("%w: it has no key, so leave out --key and unset MILLRACE_KEY", ErrStranger)
	}
	if errors.Is(err, ErrStranger) {
		return &stranger{addr + ": " + err.Error()}
	}
	return wire.Errorf(wire.Unavailable, "%s: %w", addr, err)
}

// stranger is the error of a peer that stays unreachable.
type stranger struct{ text string }

func (s *stranger) Error() string   { return s.text }
func (s *stranger) Unwrap() []error { return []error{ErrStranger, wire.Unavailable} }

// wantsKey reports whether a response is what a server with a key sends to a caller without one, before any of our
// code runs.
func wantsKey(resp *http.Response, body []byte) bool {
	return resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "HTTP request to an HTTPS server")
}
