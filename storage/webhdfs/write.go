package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/storage"
)

// A writer sends a file in one request, which begins with the first byte.
type writer struct {
	st    *store
	path  string
	to    *io.PipeWriter // nil before the first byte
	done  chan struct{}
	err   error // of the request, once done is closed
	bytes int64
	over  bool
}

// Create makes a new file. Whether another one was made meanwhile is seen when the file is written.
func (st *store) Create(p string) (storage.Writer, error) {
	if err := st.free(p); err != nil {
		return nil, st.fail("create", p, err)
	}
	return &writer{st: st, path: p, done: make(chan struct{})}, nil
}

func (w *writer) start() {
	from, to := io.Pipe()
	w.to = to
	go func() {
		defer close(w.done)
		w.err = w.st.put(w.path, from)
		from.CloseWithError(errors.Join(w.err, io.ErrClosedPipe)) // ends a Write that waits
	}()
}

// Write sends bytes.
func (w *writer) Write(p []byte) (int, error) {
	if w.over {
		return 0, w.st.fail("write", w.path, fs.ErrClosed)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if w.to == nil {
		w.start()
	}
	n, err := w.to.Write(p)
	w.bytes += int64(n)
	if err != nil {
		<-w.done
		return n, w.st.fail("write", w.path, w.err)
	}
	return n, nil
}

// Sync does nothing: the bytes are durable when Close has returned.
func (w *writer) Sync() error { return nil }

// Close waits until HDFS has the whole file.
func (w *writer) Close() error {
	if w.over {
		return nil
	}
	if w.to == nil {
		w.start()
	}
	w.over = true
	_ = w.to.Close() // never fails
	<-w.done
	err := w.err
	if err == nil {
		err = w.complete()
	}
	if err != nil {
		return w.st.fail("write", w.path, err)
	}
	return nil
}

// complete checks that what is there is what was sent, whoever stood between.
func (w *writer) complete() error {
	i, err := w.st.stat(w.path)
	if err == nil && i.Length != w.bytes {
		return fmt.Errorf("%d bytes were sent, and the file has %d", w.bytes, i.Length)
	}
	return err
}

// put sends what it reads as a new file. It tries other data nodes, or the same again, as long as none has taken a byte.
func (st *store) put(p string, from io.Reader) error {
	tries, avoid := st.patient(), ""
	for {
		body := &content{r: from, there: func() bool { return st.free(p) != nil }}
		bad, err := st.putOnce(p, body, avoid)
		if err == nil {
			return nil
		}
		if !again(err) || body.touched.Load() {
			return err
		}
		if avoid = bad; avoid != "" {
			avoid = addressOf(avoid)
		}
		if err = tries.wait(err); err != nil {
			return err
		}
	}
}

// putOnce asks where the data shall go, and sends it there. bad is a data node that does not answer.
func (st *store) putOnce(p string, body *content, avoid string) (bad string, err error) {
	q := url.Values{"overwrite": {"false"}, "createparent": {"false"}}
	if avoid != "" {
		q.Set("excludedatanodes", avoid)
	}
	resp, _, err := st.ask(context.Background(), call{"PUT", "CREATE", p, q})
	if err != nil {
		return "", err
	}
	to, err := st.target(p, resp)
	if err != nil {
		return "", err
	}
	if to.Query().Get("data") == "true" {
		st.plain.Store(true) // HttpFS sends to itself
	}
	req, err := http.NewRequest(http.MethodPut, to.String(), body)
	if err != nil {
		return "", errors.New("the name node names an address that is none")
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Expect", "100-continue") // who refuses does so before the data is sent
	server := to.Scheme + "://" + to.Host
	if resp, err = st.s.send(req); err != nil {
		return to.Hostname(), unreached(server, dataNode, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return "", nil
	}
	r := readRefusal(resp, server)
	r.user = st.s.cfg.User
	return "", r
}

// A content is the body of a request that makes a file. Its first byte is sent when the file is there: a data node takes
// bytes before it knows whether it may make one, and the answer of one that may not could get lost among them.
type content struct {
	r       io.Reader
	there   func() bool
	touched atomic.Bool // some of it may have been sent
}

// mostLooks is how often a file is looked for, over some three seconds.
const mostLooks = 16

func (c *content) Read(p []byte) (int, error) {
	for i := 0; i < mostLooks && !c.touched.Load() && !c.there(); i++ {
		time.Sleep(min(5*time.Millisecond<<i, 250*time.Millisecond))
	}
	c.touched.Store(true)
	return c.r.Read(p)
}
