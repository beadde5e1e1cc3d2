package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/attempt"
)

func (w *Worker) routes() {
	rpc.Handle(w.server, api.Health, func(context.Context, rpc.Caller, struct{}) (wire.Text, error) {
		return wire.Text{Text: "worker " + string(w.cfg.Node) + " is well"}, w.ctx.Err()
	})
	rpc.Handle(w.server, api.TaskLog, w.taskLog)
	w.server.HandleHTTP(attempt.FetchPattern, rpc.Tasks, rpc.Shuffle, w.serveShuffle)
	w.routeMetrics()
}

// A share is one map's output for one reduce, as sent.
type share struct {
	head []byte
	path string
	off  int64
	n    int64
}

// serveShuffle sends a reduce its share of several maps.
func (w *Worker) serveShuffle(rw http.ResponseWriter, r *http.Request, c rpc.Caller) {
	job := wire.JobID(r.PathValue("job"))
	if c.Node == "" && c.Job != string(job) {
		err := wire.Errorf(wire.Denied, "a task of job %s asks for output of %s", c.Job, job)
		w.server.Refused(c, attempt.FetchPattern, job, err)
		rpc.WriteError(rw, err)
		return
	}
	stage, err1 := strconv.Atoi(r.PathValue("stage"))
	part, err2 := strconv.Atoi(r.FormValue("p"))
	maps, err := attempt.ParseMaps(r.Form["m"])
	if err == nil && (err1 != nil || err2 != nil || part < 0) {
		err = wire.Errorf(wire.Invalid, "shuffle request %s", r.URL)
	}
	if err != nil {
		rpc.WriteError(rw, err)
		return
	}
	total := int64(0)
	ref := wire.StageRef{Job: job, Stage: stage}
	shares := w.shares(ref, part, maps)
	for i := range shares {
		total += int64(len(shares[i].head)) + shares[i].n
	}
	w.server.Announce(r, total, r.FormValue(attempt.CircuitField) != "")
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Content-Length", strconv.FormatInt(total, 10))
	for i := range shares {
		if err := shares[i].send(rw, w.outputs.files); err != nil {
			w.cfg.Log.Debug("shuffle", "job", job, "map", maps[i].Map, "error", err)
			if unreadable(err) {
				w.lostOutput(outputID(ref, maps[i]))
			}
			panic(http.ErrAbortHandler) // shows the reduce that the answer is cut short
		}
	}
}

func (w *Worker) shares(ref wire.StageRef, part int, maps []wire.MapOutput) []share {
	shares := make([]share, len(maps))
	for i, m := range maps {
		shares[i] = w.shareOf(outputID(ref, m), part)
	}
	return shares
}

func outputID(ref wire.StageRef, m wire.MapOutput) wire.AttemptID {
	return wire.AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: wire.MapTask, Index: m.Map, Try: m.Try}
}

// unreadable reports whether a share could not be sent because its file is gone, too short or on a bad disk, rather than
// because the reduce is gone or this process lacks something.
func unreadable(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EIO)
}

// lostOutput tells the master that map output can no longer be served from here.
func (w *Worker) lostOutput(id wire.AttemptID) {
	w.mu.Lock()
	w.roster.LostOutput(id)
	w.mu.Unlock()
	w.nudge()
}

func (w *Worker) shareOf(id wire.AttemptID, part int) share {
	h := attempt.SegmentHead{Map: id.Index, Try: id.Try}
	out := w.outputs.get(id)
	var s share
	switch {
	case out == nil || out.Path() == "":
		h.Error = fmt.Sprintf("%s is not on node %s", id, w.cfg.Node)
	case part >= out.Partitions():
		h.Error = fmt.Sprintf("%s has %d partitions, not %d", id, out.Partitions(), part+1)
	default:
		if !w.outputs.files.has(out.Path()) {
			h.Error = fmt.Sprintf("the file of %s is gone from node %s", id, w.cfg.Node)
			w.lostOutput(id)
			break
		}
		h.Name, h.Info = fmt.Sprintf("map-%05d-%d", id.Index, id.Try), out.Info(part)
		s.path, s.off, s.n = out.Path(), h.Info.Offset, h.Info.StoredBytes
		if h.Info.Records == 0 {
			s.n = 0
		}
	}
	s.head = attempt.AppendHead(nil, &h)
	return s
}

// send writes a share. It sends the stored bytes with sendfile if they have a file of their own.
func (s *share) send(rw http.ResponseWriter, files *packs) error {
	if _, err := rw.Write(s.head); err != nil {
		return err
	}
	if s.n == 0 {
		return nil
	}
	in, err := s.open(files)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.CopyN(rw, in, s.n)
	return err
}

// open returns a reader of the stored bytes and perhaps more behind them: a bare file if they are in one.
func (s *share) open(files *packs) (io.ReadCloser, error) {
	if at, packed := files.find(s.path); packed {
		return io.NopCloser(io.NewSectionReader(at.in, at.off+s.off, s.n)), nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(s.off, io.SeekStart); err != nil {
		_ = f.Close() // the error above matters
		return nil, err
	}
	return f, nil
}

// ownShares returns the answer of serveShuffle for a reduce in this process.
func (w *Worker) ownShares(ref wire.StageRef, part int, maps []wire.MapOutput) io.ReadCloser {
	return &shareReader{shares: w.shares(ref, part, maps), files: w.outputs.files}
}

// A shareReader reads shares one after another, each head before its bytes.
type shareReader struct {
	shares []share
	files  *packs
	in     io.ReadCloser // of the first share; nil before its head is read
	left   int64         // of its bytes
}

// Read implements io.Reader.
func (r *shareReader) Read(b []byte) (int, error) {
	for len(r.shares) > 0 {
		s := &r.shares[0]
		if len(s.head) > 0 {
			n := copy(b, s.head)
			s.head, r.left = s.head[n:], s.n
			return n, nil
		}
		if r.left == 0 {
			r.shares = r.shares[1:]
			if err := r.Close(); err != nil {
				return 0, err
			}
			continue
		}
		if r.in == nil {
			in, err := s.open(r.files)
			if err != nil {
				return 0, err
			}
			r.in = in
		}
		n, err := r.in.Read(b[:min(int64(len(b)), r.left)])
		r.left -= int64(n)
		if n > 0 {
			return n, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // the file is shorter than its index says
		}
		return n, err
	}
	return 0, io.EOF
}

// Close implements io.Closer.
func (r *shareReader) Close() error {
	if r.in == nil {
		return nil
	}
	in := r.in
	r.in = nil
	return in.Close()
}
