package webhdfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/millrace/millrace/storage"
)

// What one request asks for, in bytes: the first of a file little, since it may be all that is wanted, and then twice as
// much each time that reading goes on where it was. What is left of a request costs its connection.
const (
	firstWindow = 1 << 20
	maxWindow   = 64 << 20
	// maxSkip is how many bytes are read and dropped rather than asking again.
	maxSkip = 64 << 10
)

// A file is open for reading. It holds one stream, which goes on where the last read ended.
type file struct {
	st   *store
	path string
	info info

	mu     sync.Mutex // guards what follows; held while a read waits
	body   io.ReadCloser
	pos    int64 // of body in the file
	end    int64 // of what body was asked for
	window int64
	avoid  string // a data node that did not answer
	closed bool
}

// Open opens a file for reading.
func (st *store) Open(p string) (storage.File, error) { return st.OpenVersion(p, "") }

// OpenVersion opens a file that must have this version. The empty one stands for the present one.
func (st *store) OpenVersion(p, version string) (storage.File, error) {
	i, err := st.stat(p)
	switch {
	case err != nil:
	case i.Type != typeFile:
		err = errors.New("it is no file")
	case version != "" && version != i.version():
		err = storage.ErrChanged
	}
	if err != nil {
		return nil, st.fail("open", p, err)
	}
	return &file{st: st, path: p, info: i, window: firstWindow}, nil
}

func (f *file) Size() int64 { return f.info.Length }

// Close ends the stream.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
	f.closed = true
	return nil
}

func (f *file) drop() {
	if f.body != nil {
		_ = f.body.Close() // what came is all that was wanted
		f.body = nil
	}
}

// ReadAt reads from the stream if it is at the offset, or from a new one.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if off < 0 || f.closed {
		return 0, f.st.fail("read", f.path, fs.ErrInvalid)
	}
	want := p[:max(0, min(int64(len(p)), f.info.Length-off))]
	n, err := f.fill(want, off)
	if err != nil {
		f.drop()
		return n, f.st.fail("read", f.path, fmt.Errorf("at %d: %w", off+int64(n), err))
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// fill reads all of p, over as many streams as that takes.
func (f *file) fill(p []byte, off int64) (n int, err error) {
	tries := f.st.patient()
	for n < len(p) {
		k, err := f.step(p[n:], off+int64(n))
		n += k
		if k > 0 {
			tries = f.st.patient()
		}
		if err == nil {
			continue
		}
		f.drop()
		if !again(err) {
			return n, f.verdict(err)
		}
		if err = tries.wait(err); err != nil {
			return n, err
		}
	}
	return n, nil
}

// step reads some bytes at an offset.
func (f *file) step(p []byte, off int64) (int, error) {
	if err := f.seek(off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.body.Read(p[:min(int64(len(p)), f.end-f.pos)])
	f.pos += int64(n)
	switch {
	case f.pos == f.end:
		f.finish()
		return n, nil
	case err == io.EOF:
		return n, fmt.Errorf("%w: %d bytes of %d came", errBroken, n, f.end-f.pos+int64(n))
	case err != nil:
		return n, fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, nil
}

// finish ends a stream that was read whole, so that its connection is free for the next.
func (f *file) finish() {
	_, _ = f.body.Read(make([]byte, 1)) // its end
	f.drop()
}

// seek makes the stream stand at an offset.
func (f *file) seek(off, need int64) error {
	ahead := off - f.pos
	if f.body != nil && ahead > 0 && ahead <= maxSkip && off < f.end {
		k, err := io.CopyN(io.Discard, f.body, ahead)
		f.pos += k
		if err != nil {
			return fmt.Errorf("%w: %w", errBroken, err)
		}
	}
	if f.body != nil && f.pos == off {
		return nil
	}
	f.drop()
	if f.pos == off && off > 0 {
		f.window = min(2*f.window, maxWindow)
	} else {
		f.window = firstWindow
	}
	return f.open(off, min(f.info.Length-off, max(need, f.window)))
}

// open starts a stream, and makes sure that it is the file that was opened: the name node gives a file a new number
// when it is made, so that who asks before and after the stream began knows which it is.
func (f *file) open(off, length int64) error {
	q := url.Values{"offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(length, 10)}}
	if f.avoid != "" {
		q.Set("excludedatanodes", f.avoid)
		f.avoid = ""
	}
	resp, _, err := f.st.ask(f.st.s.reads, call{"GET", "OPEN", f.path, q})
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusTemporaryRedirect {
		if resp, err = f.redirected(resp); err != nil {
			return err
		}
	}
	if err := f.changed(); err != nil {
		resp.Body.Close()
		return err
	}
	f.body, f.pos, f.end = resp.Body, off, off+length
	return nil
}

// redirected asks the data node that the name node has named.
func (f *file) redirected(resp *http.Response) (*http.Response, error) {
	to, err := f.st.target(f.path, resp)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(f.st.s.reads, http.MethodGet, to.String(), nil)
	if err != nil {
		return nil, errors.New("the name node names an address that is none")
	}
	server := to.Scheme + "://" + to.Host
	if resp, err = f.st.s.send(req); err != nil {
		f.avoid = addressOf(to.Hostname())
		return nil, unreached(server, dataNode, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	r := readRefusal(resp, server)
	r.user = f.st.s.cfg.User
	return nil, r
}

// changed returns an error if the path is no longer the file that was opened.
func (f *file) changed() error {
	now, err := f.st.stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (it is gone)", storage.ErrChanged)
	}
	if err == nil && now.version() != f.info.version() {
		return storage.ErrChanged
	}
	return err
}

// verdict says of a file that a server refuses to read that it has changed, if that is why.
func (f *file) verdict(err error) error {
	if now := f.changed(); errors.Is(now, storage.ErrChanged) {
		return now
	}
	return err
}
