package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// short has a binary form; it notes when that is used.
type short struct{ Text string }

var binaryUses atomic.Int32

func (s *short) AppendBinary(b []byte) ([]byte, error) {
	if s.Text == "unspeakable" {
		return nil, errors.New("not this word")
	}
	binaryUses.Add(1)
	return append(append(b, '#'), s.Text...), nil
}

func (s *short) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != '#' {
		return errors.New("no #")
	}
	binaryUses.Add(1)
	s.Text = string(b[1:])
	return nil
}

// TestForms calls between sides that know a message's binary form and sides that do not.
func TestForms(t *testing.T) {
	addr, c := start(t, ServerConfig{}, func(s *Server) {
		HandleQuick(s, Method[short, short]{"both", Users}, func(_ Caller, r short) (short, error) { return r, nil })
		Handle(s, Method[told, short]{"plain", Users}, func(_ context.Context, _ Caller, r told) (short, error) { return short(r), nil })
	})
	used := func(fn func() (string, error)) int32 {
		t.Helper()
		binaryUses.Store(0)
		if got, err := fn(); err != nil || got != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
		return binaryUses.Load()
	}
	if n := used(func() (string, error) {
		r, err := Call[short, short](t.Context(), c, addr, "both", short{"hello"})
		return r.Text, err
	}); n != 4 {
		t.Errorf("both sides know the form and it was used %d times of 4", n)
	}
	if n := used(func() (string, error) {
		r, err := Call[ask, told](t.Context(), c, addr, "both", ask{"hello"})
		return r.Text, err
	}); n != 0 {
		t.Errorf("a caller that does not know the form met it %d times", n)
	}
	if n := used(func() (string, error) {
		r, err := Call[ask, short](t.Context(), c, addr, "plain", ask{"hello"})
		return r.Text, err
	}); n != 2 {
		t.Errorf("only the answer has a form and it was used %d times of 2", n)
	}
	if n := used(func() (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+Prefix+"both", strings.NewReader(`{"Text":"hello"}`))
		if err != nil {
			return "", err
		}
		req.Header.Set(userHeader, "ann")
		resp, err := c.http.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var got told
		err = json.NewDecoder(resp.Body).Decode(&got)
		return got.Text, err
	}); n != 0 {
		t.Errorf("plain HTTP met the binary form %d times", n)
	}
	if _, err := Call[short, told](t.Context(), c, addr, "plain", short{"hello"}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a binary request to a method that knows none: %v", err)
	}
	if _, err := Call[short, short](t.Context(), c, addr, "both", short{"unspeakable"}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a request that cannot be encoded: %v", err)
	}
}

// TestCrew: every call is made, by no more goroutines than are needed, and close waits.
func TestCrew(t *testing.T) {
	c := newCrew()
	var done atomic.Int32
	for range 10 {
		var all sync.WaitGroup
		all.Add(3 * maxIdle) // before the first may wait
		for range 3 * maxIdle {
			c.do(func() {
				done.Add(1)
				all.Done()
				all.Wait() // all at once
			})
		}
		all.Wait()
	}
	block := make(chan struct{})
	c.do(func() { <-block; done.Add(1) })
	go close(block)
	c.close()
	if n := done.Load(); n != 10*3*maxIdle+1 {
		t.Errorf("%d calls were made", n)
	}
	if n := c.idle.Load(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
