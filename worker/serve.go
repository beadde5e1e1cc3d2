package worker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/attempt"
)

func (w *Worker) routes() {
	rpc.Handle(w.server, "health", rpc.Anyone, func(context.Context, rpc.Caller, struct{}) (wire.Text, error) {
		return wire.Text{Text: "worker " + string(w.cfg.Node) + " is well"}, w.ctx.Err()
	})
	rpc.Handle(w.server, "task.log", rpc.Nodes, w.taskLog)
	w.server.HandleHTTP(attempt.FetchPattern, rpc.Tasks, rpc.Shuffle, w.serveShuffle)
}

// A share is one map's output for one reduce, as it is sent.
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
		rpc.WriteError(rw, wire.Errorf(wire.Denied, "a task of job %s asks for output of %s", c.Job, job))
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
	shares := make([]share, len(maps))
	for i, m := range maps {
		id := wire.AttemptID{Job: job, Stage: stage, Kind: wire.MapTask, Index: m.Map, Try: m.Try}
		shares[i] = w.shareOf(id, part)
		total += int64(len(shares[i].head)) + shares[i].n
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Content-Length", strconv.FormatInt(total, 10))
	for i := range shares {
		if err := shares[i].send(rw, w.outputs.files); err != nil {
			w.cfg.Log.Debug("shuffle", "job", job, "map", maps[i].Map, "error", err)
			panic(http.ErrAbortHandler) // so that the reduce sees the answer cut short
		}
	}
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
			w.mu.Lock()
			w.core.LostOutput(id)
			w.mu.Unlock()
			w.nudge()
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

// send writes a share, the stored bytes by sendfile where they are a file of their own.
func (s *share) send(rw http.ResponseWriter, files *packs) error {
	if _, err := rw.Write(s.head); err != nil {
		return err
	}
	if s.n == 0 {
		return nil
	}
	if at, packed := files.find(s.path); packed {
		_, err := io.Copy(rw, io.NewSectionReader(at.in, at.off+s.off, s.n))
		return err
	}
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(s.off, io.SeekStart); err != nil {
		return err
	}
	_, err = io.CopyN(rw, f, s.n)
	return err
}
