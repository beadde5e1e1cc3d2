package names

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// benchService is a service on a real disk with three nodes.
func benchService(b *testing.B) *Service {
	b.Helper()
	cfg := benchConfig(b, b.TempDir())
	s, err := Open(cfg)
	must(b, err)
	benchNodes(b, s)
	return s
}

func benchConfig(b *testing.B, dir string) Config {
	b.Helper()
	root, err := disk.OpenRoot(dir)
	must(b, err)
	b.Cleanup(func() { root.Close() })
	cfg := DefaultConfig()
	began := time.Now()
	cfg.Disk, cfg.Checkpoint = root, filepath.Join(dir, "names.db")
	cfg.Now = func() time.Duration { return time.Since(began) }
	cfg.Wall = time.Now
	cfg.DeadAfter = time.Hour
	return cfg
}

func benchNodes(b *testing.B, s *Service) map[wire.NodeName]uint64 {
	b.Helper()
	sessions := map[wire.NodeName]uint64{}
	for i := range 3 {
		name := wire.NodeName(fmt.Sprintf("n%d", i))
		resp, err := s.Register(wire.RegisterRequest{Node: name, Rack: fmt.Sprintf("r%d", i%2), Volumes: []wire.Volume{{Total: 1 << 50, Free: 1 << 50}}})
		must(b, err)
		sessions[name] = resp.Session
	}
	return sessions
}

// each runs fn b.N times in eight goroutines.
func each(b *testing.B, fn func(n int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 8 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := fn(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkCreateComplete8 makes and closes empty files from eight goroutines; each is
// two journal records on the real disk.
func BenchmarkCreateComplete8(b *testing.B) {
	s := benchService(b)
	defer s.Close()
	each(b, func(n int64) error {
		holder := fmt.Sprintf("h%d", n)
		f, err := s.Create(wire.CreateRequest{Path: fmt.Sprintf("/d%d/f%d", n%100, n), Holder: holder, Parents: true})
		if err != nil {
			return err
		}
		_, err = s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: holder})
		return err
	})
}

// BenchmarkStat8 looks files up from eight goroutines while another makes some.
func BenchmarkStat8(b *testing.B) {
	s := benchService(b)
	defer s.Close()
	for n := range 10_000 {
		_, err := s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/a/b/c%d/d%d", n%100, n), Parents: true})
		must(b, err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if _, err := s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/a/x%d", n)}); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
	each(b, func(n int64) error {
		n %= 10_000
		_, err := s.Stat(wire.PathRequest{Path: fmt.Sprintf("/a/b/c%d/d%d", n%100, n)})
		return err
	})
	close(stop)
	wg.Wait()
}

// BenchmarkMillionFiles makes 10^6 files of one block with three reported replicas and
// measures memory for each, and how long a restart takes from the checkpoint, and from
// a journal of 50,000 records on top of it.
func BenchmarkMillionFiles(b *testing.B) {
	const files = 1_000_000
	for b.Loop() {
		cfg := benchConfig(b, b.TempDir())
		cfg.CheckpointEvery = 1 << 30
		before := heap()
		s, err := Open(cfg)
		must(b, err)
		fill(b, s, 0, files)
		must(b, s.Checkpoint())
		reportAll(b, s)
		b.ReportMetric(float64(heap()-before)/files, "B/file")
		b.ReportMetric(loseNode(b, s).Seconds(), "node-death-s")
		fill(b, s, files, files+25_000)
		must(b, s.journal.Wait(s.applied))
		must(b, s.journal.Close()) // as a kill would leave it: no last checkpoint
		close(s.done)
		s.wg.Wait()
		must(b, s.db.Close())
		s = nil
		heap()
		began := time.Now()
		s, err = Open(cfg)
		must(b, err)
		b.ReportMetric(time.Since(began).Seconds(), "restart-s")
		if len(s.inodes) < files {
			b.Fatalf("%d files came back", len(s.inodes))
		}
		must(b, s.Close())
	}
}

// fill makes closed files of one block, two records each, without waiting for each.
func fill(b *testing.B, s *Service, from, to int) {
	b.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := from; n < to; n++ {
		dir := rootID
		if n%1000 == 0 {
			must(b, s.commit(edit{op: opPut, id: s.nextFile, parent: rootID, name: fmt.Sprintf("directory-%04d", n/1000), user: "someone", dir: true}))
		}
		dir = s.root.dir.kids.get(fmt.Sprintf("directory-%04d", n/1000)).id
		id := s.nextFile
		must(b, s.commit(
			edit{op: opPut, id: id, parent: dir, name: fmt.Sprintf("part-r-%05d.snappy", n%1000), user: "someone", mtime: 1_700_000_000_000, replicas: 3, blockSize: 64 << 20, holder: "holder", request: "request"},
			edit{op: opBlock, id: id, block: wire.Block{ID: s.nextID, Gen: s.gen + 1}, pipeline: []wire.NodeName{"n0", "n1", "n2"}}))
		must(b, s.commit(
			edit{op: opBlock, id: id, block: wire.Block{ID: s.nextID - 1, Gen: s.gen, Len: 50 << 20}, on: true},
			edit{op: opClose, id: id, mtime: 1_700_000_000_000, crc: 0xdeadbeef, on: true}))
	}
}

// reportAll has three nodes report all blocks.
func reportAll(b *testing.B, s *Service) {
	b.Helper()
	var blocks []wire.Block
	for _, bl := range s.blocks {
		blocks = append(blocks, bl.Block)
	}
	for name, session := range benchNodes(b, s) {
		const page = 10_000
		for n := 0; n*page < len(blocks); n++ {
			end := min((n+1)*page, len(blocks))
			must(b, s.Report(wire.ReportRequest{Node: name, Session: session, Page: n, Last: end == len(blocks), Blocks: blocks[n*page : end]}))
		}
	}
}

// loseNode is how long the service is busy with the death of a node that has all blocks.
func loseNode(b *testing.B, s *Service) time.Duration {
	b.Helper()
	_, err := s.SafeMode(wire.SafeModeRequest{Set: "leave"})
	must(b, err)
	s.Lost("n1")
	began := time.Now()
	must(b, s.Tick())
	return time.Since(began)
}

// heap is how much is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
