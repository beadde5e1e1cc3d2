package dfsbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/bench/live"
	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// holders are the nodes that have every block.
var holders = []wire.NodeName{"n1", "n2", "n3"}

// million measures a master with a great many files of one block each: how long it takes to start, and
// how much memory it has for each file when three nodes have reported all blocks.
func (s Setup) million(ctx context.Context) (rows []live.Row, err error) {
	dir := filepath.Join(s.Dir, "million")
	list, err := fillNames(ctx, filepath.Join(dir, "names"), s.Many)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	addr := filepath.Join(s.Dir, "million.addr")
	master := exec.CommandContext(ctx, s.Self, "master", "--dir", dir, "--listen", "127.0.0.1:0", "--addr-file", addr)
	if err := master.Start(); err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, master.Process.Kill())
		_ = master.Wait() // the error says that it was killed
	}()
	where, err := answers(ctx, addr)
	if err != nil {
		return nil, err
	}
	took := time.Since(begin).Seconds()
	if err := report(ctx, where, list); err != nil {
		return nil, err
	}
	bytes, err := resident(master.Process.Pid)
	each := float64(bytes) / float64(s.Many)
	what := fmt.Sprintf("master with %d files of one block: ", s.Many)
	return []live.Row{
		live.Row{ID: "restart", What: what + "start until it answers", Value: took, Unit: "s", Must: 10}.Judged(),
		live.Row{ID: "memory", What: what + "resident, three replicas of each reported", Value: each, Unit: "bytes for each", Must: 1024}.Judged(),
	}, err
}

// fillNames makes files of one block in the directory of a stopped name service.
func fillNames(ctx context.Context, dir string, files int) ([]wire.Block, error) {
	root, err := disk.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	begin := time.Now()
	cfg := names.DefaultConfig()
	cfg.Superuser = "bench"
	cfg.Disk, cfg.Checkpoint = root, filepath.Join(dir, "checkpoint.db")
	cfg.Now, cfg.Wall = func() time.Duration { return time.Since(begin) }, time.Now
	cfg.DeadAfter, cfg.CheckpointEvery = time.Hour, 10*files // one checkpoint, at the end
	s, err := names.Open(cfg)
	if err != nil {
		return nil, err
	}
	for _, n := range holders {
		_, e := s.Register(wire.RegisterRequest{Node: n, Rack: "r1", Volumes: []wire.Volume{{ID: "v", Total: 1 << 50, Free: 1 << 50}}})
		err = errors.Join(err, e)
	}
	list := make([]wire.Block, files)
	g, ctx := errgroup.WithContext(ctx)
	const writers = 1024 // they share the syncs of the journal
	for w := range writers {
		g.Go(func() (err error) {
			for i := w; i < files && err == nil; i += writers {
				if err = ctx.Err(); err == nil {
					list[i], err = fileOfOneBlock(s, i)
				}
			}
			return err
		})
	}
	err = errors.Join(err, g.Wait())
	return list, errors.Join(err, s.Close())
}

func oneOfMany(i int) string {
	return fmt.Sprintf("/directory-%04d/part-r-%05d.snappy", i/1000, i%1000)
}

func fileOfOneBlock(s *names.Service, i int) (wire.Block, error) {
	holder := strconv.Itoa(i)
	f, err := s.Create(wire.CreateRequest{Path: oneOfMany(i), User: "bench", Holder: holder, Parents: true})
	if err != nil {
		return wire.Block{}, err
	}
	p, err := s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: holder})
	if err != nil {
		return wire.Block{}, err
	}
	p.Block.Len = 50 << 20
	_, err = s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: holder, Last: &p.Block, Stored: holders, CRC: uint32(i)})
	return p.Block, err
}

// answers waits until a master has written its address and describes a file.
func answers(ctx context.Context, addrFile string) (string, error) {
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(addrFile)
		if err != nil {
			continue
		}
		addr := strings.TrimSpace(string(b))
		cl, err := client.New(client.Config{Master: addr})
		if err != nil {
			return "", err
		}
		_, err = cl.DFS().Stat(ctx, oneOfMany(0))
		return addr, errors.Join(err, cl.Close())
	}
	return "", ctx.Err()
}

// report makes all nodes report all blocks.
func report(ctx context.Context, addr string, list []wire.Block) error {
	const page = 20_000
	for _, n := range holders {
		c := rpc.NewClient(rpc.ClientConfig{Node: string(n)})
		to := blocks.Remote{Client: c, Addr: strings.TrimPrefix(addr, "http://")}
		resp, err := to.Register(ctx, wire.RegisterRequest{Node: n, Rack: "r1", Volumes: []wire.Volume{{ID: "v", Total: 1 << 50, Free: 1 << 50}}, Blocks: int64(len(list))})
		for at := 0; at < len(list) && err == nil; at += page {
			part := list[at:min(at+page, len(list))]
			err = to.Report(ctx, wire.ReportRequest{Node: n, Session: resp.Session, Page: at / page, Last: at+page >= len(list), Blocks: part})
		}
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return nil
}

// resident returns the memory of a process in bytes, without mapped files, which belong to the page cache.
func resident(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d: no RssAnon", pid)
}
