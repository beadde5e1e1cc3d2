package blocks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/api"

	"golang.org/x/time/rate"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// Names is how a block service reaches the name service. Calls may fail and are then repeated.
type Names interface {
	Register(ctx context.Context, r wire.RegisterRequest) (wire.RegisterResponse, error)
	Report(ctx context.Context, r wire.ReportRequest) error
	Beat(ctx context.Context, r wire.BeatRequest) (wire.BeatResponse, error)
	Nodes(ctx context.Context) ([]wire.StoreNode, error)
}

// Config configures a Service. The comments say what zero means.
type Config struct {
	Node    wire.NodeName
	Rack    string
	Addr    string // where others reach this service
	Machine string // machine type, for hybrid placement
	Names   Names
	Client  *rpc.Client // to reach other block services

	// BeatEvery is the pause between beats; news is sent at once. 0 means 1 s.
	BeatEvery time.Duration
	// MaxBlock bounds what a writer may reserve; 0 means [wire.MaxBlock].
	MaxBlock int64
	// CopyStreams is how many replicas are sent at once on behalf of the name service; 0 means 2. Larger:
	// faster repair, slower jobs.
	CopyStreams int
	// CopyRate bounds these copies together, in bytes a second; 0 means 32 MiB. While users read or write here
	// it is divided by CopyYield; 0 means 3.
	CopyRate  int64
	CopyYield int
	// ScrubPeriod is how often every replica is read to find rot; 0 means three weeks, as in HDFS. ScrubRate
	// bounds this reading, in bytes a second; 0 means 4 MiB.
	ScrubPeriod time.Duration
	ScrubRate   int64
	// LeftFor is how long an unfinished replica without a client is kept for one that may resume it. 0 means 5
	// minutes, longer than the name service takes to have it recovered.
	LeftFor time.Duration
	// ProbeEvery is how often disks are tested; 0 means 2 s.
	ProbeEvery time.Duration
	Timing     pipe.Timing
	// Event receives what happened, for logs. It must not block.
	Event func(e Event)
}

// An Event is something an operator may want to know.
type Event struct {
	What  string // such as "quarantined"
	Block wire.BlockID
	Err   error
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.BeatEvery, time.Second)
	set(&c.ScrubPeriod, 504*time.Hour)
	set(&c.ProbeEvery, 2*time.Second)
	set(&c.LeftFor, 5*time.Minute)
	if c.MaxBlock == 0 {
		c.MaxBlock = wire.MaxBlock
	}
	if c.CopyStreams == 0 {
		c.CopyStreams = 2
	}
	if c.CopyRate == 0 {
		c.CopyRate = 32 << 20
	}
	if c.CopyYield == 0 {
		c.CopyYield = 3
	}
	if c.ScrubRate == 0 {
		c.ScrubRate = 4 << 20
	}
	if c.Event == nil {
		c.Event = func(Event) {}
	}
	return c
}

// A Service puts a Store on the wire.
type Service struct {
	cfg    Config
	store  *Store
	copies chan struct{} // a slot for each copy under way
	copied *rate.Limiter
	wake   chan struct{} // signals news

	keys       token.Ring
	members    members
	begin      time.Time
	foreground foreground
	refused    func(c rpc.Caller, route string, req any, err error) // hears what this service refuses
	wg         sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	session uint64
	refusal string // the last reason not to obey a master that was told
}

// NewService returns a service that does nothing yet.
func NewService(store *Store, cfg Config) *Service {
	s := &Service{cfg: cfg.withDefaults(), store: store, wake: make(chan struct{}, 1), begin: time.Now(), foreground: foreground{begin: time.Now()}}
	s.members.begin, s.members.asked = s.begin, -membersFor
	s.copies = make(chan struct{}, s.cfg.CopyStreams)
	s.copied = rate.NewLimiter(rate.Limit(s.cfg.CopyRate), max(4, s.cfg.CopyYield)*pipe.ChunkSize) // small steps let readers in
	store.changes.mu.Lock()
	store.changes.wake = s.nudge
	store.changes.mu.Unlock()
	return s
}

func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Register adds the service's routes to a server.
func (s *Service) Register(srv *rpc.Server) {
	s.refused = srv.Refused
	rpc.HandleStream(srv, pipe.StreamName, rpc.Files, s.receive)
	srv.HandleHTTP(pipe.FetchPattern, rpc.Files, rpc.Block, s.serveBlock)
	handle(s, srv, api.BlockInspect, token.Write, func(b wire.Block) (wire.Replica, error) { return s.store.Inspect(b.ID) })
	handle(s, srv, api.BlockSettle, token.Write, func(b wire.Block) (struct{}, error) { return struct{}{}, s.store.settle(b) })
	handle(s, srv, api.BlockSum, token.Read, func(b wire.Block) (wire.BlockSum, error) {
		crc, err := s.store.Sum(b)
		return wire.BlockSum{CRC: crc}, err
	})
	handle(s, srv, api.BlockLocal, token.Read, func(b wire.Block) (wire.LocalBlock, error) {
		path, err := s.store.Path(b.ID, b.Gen)
		return wire.LocalBlock{Path: path}, err
	})
	handle(s, srv, api.BlockSuspect, token.Read, func(b wire.Block) (none struct{}, _ error) { s.suspect(b.ID); return none, nil })
}

// handle registers a small call that needs a token.
func handle[Resp any](s *Service, srv *rpc.Server, method rpc.Method[wire.BlockRequest, Resp], op token.Op, fn func(wire.Block) (Resp, error)) {
	rpc.Handle(srv, method, func(_ context.Context, c rpc.Caller, r wire.BlockRequest) (resp Resp, err error) {
		if err := s.allow(c, r.Token, r.Block, op); err != nil {
			return resp, err
		}
		return fn(r.Block)
	})
}

// allow checks the token of a request.
func (s *Service) allow(c rpc.Caller, text string, b wire.Block, op token.Op) error {
	return s.keys.Check(text, b, op, c, time.Since(s.begin))
}

// suspect verifies a replica that a reader found damaged. It is no error if the reader was wrong: its network
// may corrupt data.
func (s *Service) suspect(id wire.BlockID) {
	if err := s.store.Verify(id, func(int) {}); err != nil {
		s.cfg.Event(Event{"quarantined", id, err})
	}
}

// receive handles one replica's part in a pipeline.
func (s *Service) receive(ctx context.Context, c rpc.Caller, a pipe.WriteArgs, st *rpc.Stream) {
	if c.Node == "" { // not a copy, nor a replica behind another one, whose node counts the write
		defer s.foreground.enter()()
	}
	w, err := s.prepare(ctx, c, a)
	if err != nil {
		s.refused(c, pipe.StreamName, a.Block, err)
		no := pipe.Ack{Failed: true, Kind: wire.KindOf(err), Text: fmt.Sprintf("%s: %v", s.cfg.Node, err)}
		_, _ = st.Write(no.Append(nil)) // if it is lost, the broken connection says enough
		return
	}
	defer func() { w.Leave(time.Since(s.begin)) }()
	err = pipe.Receive(st, a.Start, w, s.cfg.Timing, s.opener(ctx, a))
	if err != nil {
		s.cfg.Event(Event{"pipeline broke", a.Block.ID, err})
	}
}

// opener returns what opens the pipeline behind this replica.
func (s *Service) opener(ctx context.Context, a pipe.WriteArgs) func(notify func()) (*pipe.Sender, error) {
	return func(notify func()) (*pipe.Sender, error) {
		if len(a.Next) == 0 {
			return nil, nil
		}
		return pipe.Open(ctx, s.cfg.Client, a.Next[0].Place, a.Behind(), s.cfg.Timing, notify)
	}
}

// Write begins a replica for a writer in this process, and opens the pipeline behind it.
func (s *Service) Write(ctx context.Context, a pipe.WriteArgs) (*pipe.Head, error) {
	w, err := s.prepare(ctx, rpc.Caller{Node: string(s.cfg.Node)}, a)
	if err != nil {
		return nil, &pipe.Broken{Kind: wire.KindOf(err), Text: fmt.Sprintf("%s: %v", s.cfg.Node, err)}
	}
	done := s.foreground.enter()
	return pipe.NewHead(a.Start, w, s.cfg.Timing, s.opener(ctx, a), func() {
		w.Leave(time.Since(s.begin))
		done()
	})
}

// prepare creates or resumes the replica to append packets to.
func (s *Service) prepare(ctx context.Context, c rpc.Caller, a pipe.WriteArgs) (*Writer, error) {
	if err := s.allow(c, a.Token, a.Block, token.Write); err != nil {
		return nil, err
	}
	if err := s.checkPlaces(ctx, &a); err != nil {
		return nil, err
	}
	if a.Start < 0 || a.Block.Len < 0 || a.Block.Len > s.cfg.MaxBlock {
		return nil, wire.Errorf(wire.Invalid, "block of %d bytes from %d; the limit is %d", a.Block.Len, a.Start, s.cfg.MaxBlock)
	}
	if a.Resume && a.From == nil {
		return s.store.Resume(a.Block.ID, a.Block.Gen, a.Start, a.Block.Len)
	}
	w, err := s.store.Begin(a.Block, a.Block.Len)
	if err != nil || a.Start == 0 {
		return w, err
	}
	if a.From == nil {
		err = wire.Errorf(wire.Invalid, "begins at %d and nobody has what comes before", a.Start)
	} else {
		err = s.catchUp(ctx, w, a)
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// catchUp fetches what the other replicas of a pipeline have already.
func (s *Service) catchUp(ctx context.Context, w *Writer, a pipe.WriteArgs) error {
	b, length := a.Block, a.Start
	b.Len = length
	in, err := pipe.Fetch(ctx, s.cfg.Client, *a.From, pipe.Range{Block: b, Len: length, Token: a.Token})
	if err != nil {
		return err
	}
	defer in.Close()
	chunk := make([]byte, pipe.ChunkSize)
	for at := int64(0); at < length; {
		n, err := io.ReadFull(in, chunk[:min(pipe.ChunkSize, length-at)])
		if err != nil {
			return err
		}
		if err := w.Append(chunk[:n], pipe.Checksum(chunk[:n])); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// serveBlock answers a reader: the checksums, then the chunks, with sendfile where possible.
func (s *Service) serveBlock(w http.ResponseWriter, r *http.Request, c rpc.Caller) {
	want, rd, err := s.openRange(r, c)
	if err != nil {
		s.refused(c, pipe.FetchPattern, want.Block, err)
		rpc.WriteError(w, err)
		return
	}
	defer rd.Close()
	defer s.foreground.enter()()
	from, to := pipe.Cover(rd.Block.Len, want.Off, want.Len)
	table, err := rd.Table(from, to)
	if err != nil {
		s.readFailed(rd.Block.ID, err)
		rpc.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(int64(len(table))+to-from, 10))
	if _, err := w.Write(table); err != nil {
		return // the reader went away
	}
	if err := sendBlock(w, rd, from, to); err != nil {
		s.readFailed(rd.Block.ID, err)
	}
}

// openRange opens the replica that a reader asks for, if it may.
func (s *Service) openRange(r *http.Request, c rpc.Caller) (pipe.Range, *Reader, error) {
	want, err := pipe.ParseFetch(r)
	if err == nil {
		err = s.allow(c, want.Token, want.Block, token.Read)
	}
	if err != nil {
		return want, nil, err
	}
	rd, err := s.store.Open(want.Block.ID, want.Block.Gen)
	if err != nil {
		return want, nil, err
	}
	if want.Off >= rd.Block.Len {
		_ = rd.Close() // only read
		return want, nil, wire.Errorf(wire.Invalid, "%s has %d bytes, asked for %d and on", rd.Block.ID, rd.Block.Len, want.Off)
	}
	return want, rd, nil
}

// sendBlock sends a part of a replica, with sendfile where there is one. It returns only errors of our side.
// Readers disconnect all the time, which says nothing about the disk.
func sendBlock(w io.Writer, rd *Reader, from, to int64) error {
	f, ok := disk.OSFile(rd.file)
	if !ok {
		src := &watchedReader{r: io.NewSectionReader(rd, from, to-from)}
		_, _ = io.Copy(w, src) // only the source's error counts
		return src.err
	}
	if _, err := f.Seek(headerSize+from, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(w, f, to-from)
	var path *fs.PathError
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) || errors.As(err, &path) {
		return err
	}
	return nil
}

// A watchedReader remembers the error of its reader.
type watchedReader struct {
	r   io.Reader
	err error
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// readFailed checks a replica whose disk returned an error, to find out whether the block or the volume is bad.
func (s *Service) readFailed(id wire.BlockID, err error) {
	s.cfg.Event(Event{"read failed", id, err})
	s.suspect(id)
}
