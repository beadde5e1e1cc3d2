package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// A store is one HDFS.
type store struct {
	s *Service
	site

	active atomic.Int32 // of nodes, which has answered last
	met    atomic.Bool  // one of them has answered
	whole  atomic.Bool  // it lists directories whole only
	plain  atomic.Bool  // it renames without options: an HttpFS
}

// A call is one question to a name node.
type call struct {
	method, op, path string
	query            url.Values
}

// address returns the URL of a call. In the path every byte that could mean something else is escaped.
func (st *store) address(server string, c call) string {
	q := url.Values{"op": {c.op}}
	maps.Copy(q, c.query)
	if st.s.cfg.User != "" {
		q.Set("user.name", st.s.cfg.User)
	}
	return server + apiPath + escape(c.path) + "?" + q.Encode()
}

const apiPath = "/webhdfs/v1"

func escape(p string) string {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	}
	return strings.Join(parts, "/")
}

// ask asks the active name node, or looks for it, until it answers or patience ends. The answer is a success or a
// redirection; its body is the caller's to close. unsure reports whether an earlier try may have been carried out,
// unanswered.
func (st *store) ask(ctx context.Context, c call) (resp *http.Response, unsure bool, err error) {
	p := st.patient()
	for {
		for range st.nodes {
			i := st.active.Load()
			resp, err = st.askOne(ctx, st.nodes[i], c)
			if err == nil {
				return resp, unsure, nil
			}
			if _, answered := errors.AsType[*refusal](err); !answered {
				unsure = true
			} else if !again(err) {
				return nil, unsure, err
			}
			st.active.CompareAndSwap(i, (i+1)%int32(len(st.nodes)))
		}
		if !again(err) {
			return nil, unsure, err
		}
		if err = p.wait(err); err != nil {
			return nil, unsure, err
		}
	}
}

func (st *store) askOne(ctx context.Context, server string, c call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, c.method, st.address(server, c), nil)
	if err != nil {
		return nil, err
	}
	resp, err := st.s.send(req)
	if err != nil {
		err = unreached(server, nameNode, err)
		if st.advice != "" && !st.met.Load() {
			err = fmt.Errorf("%w (%s)", err, st.advice)
		}
		return nil, err
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusTemporaryRedirect {
		st.met.Store(true)
		return resp, nil
	}
	defer resp.Body.Close()
	r := readRefusal(resp, server)
	r.user = st.s.cfg.User
	if r.exception != "" {
		st.met.Store(true)
	}
	return nil, r
}

// answer asks, and reads the answer whole.
func (st *store) answer(c call) (body []byte, unsure bool, err error) {
	resp, unsure, err := st.ask(context.Background(), c)
	if err != nil {
		return nil, unsure, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, unsure, fmt.Errorf("%s is redirected to another server, which WebHDFS does not do", c.op)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if len(body) > maxAnswer {
		err = fmt.Errorf("the answer to %s has more than %d bytes", c.op, maxAnswer)
	}
	return body, unsure, err
}

// A patience is how long something is tried again.
type patience struct {
	ctx  context.Context
	till time.Time
	next time.Duration
	long bool // something has been waited for
}

func (st *store) patient() *patience {
	d := st.s.cfg.Patience
	if !st.met.Load() {
		d = min(d, strange)
	}
	if st.s.reads.Err() != nil {
		d = 0
	}
	return &patience{ctx: st.s.reads, till: time.Now().Add(d), next: 50 * time.Millisecond}
}

// wait waits a little longer each time. It returns the error when patience has ended.
func (p *patience) wait(why error) error {
	d := min(p.next, time.Until(p.till))
	if d <= 0 || p.ctx.Err() != nil {
		if p.long && p.ctx.Err() == nil {
			return fmt.Errorf("%w (tried again and again until patience ended)", why)
		}
		return why
	}
	p.next, p.long = min(2*p.next, 5*time.Second), true
	select {
	case <-p.ctx.Done():
	case <-time.After(d):
	}
	return nil
}
