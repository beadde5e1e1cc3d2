package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// home is where the program has the right to write.
const home = "/user/bob/"

// open opens a pipeline and hangs up; an error says why it could not.
func open(cl *rpc.Client, first wire.Place, a pipe.WriteArgs) error {
	s, err := pipe.Open(context.Background(), cl, first, a, pipe.Timing{}, nil)
	if err == nil {
		s.Close()
	}
	return err
}

// write opens another user's block, whose number and generation it knows, at a high generation and hangs up: without a
// token, and with that of a block of its own.
func write() (out []string) {
	cl := caller()
	defer cl.Close()
	own := begin(cl, home+"write", 1<<20)
	var id, gen uint64
	_, err := fmt.Sscan(*target, &id, &gen)
	must(err)
	for _, token := range []string{"", own.Token} {
		for _, resume := range []bool{false, true} {
			b := wire.Block{ID: wire.BlockID(id), Gen: 1 << 40, Len: 7}
			out = append(out, refused("write", open(cl, own.Places[0], pipe.WriteArgs{Block: b, Resume: resume, Token: token}))...)
		}
	}
	return out
}

// begin makes a file with one block that nobody writes.
func begin(cl *rpc.Client, path string, size int64) wire.Pipeline {
	const holder = "hostile"
	ctx := context.Background()
	f, err := api.DFSCreate.Call(ctx, cl, order.Master, wire.CreateRequest{Path: path, Holder: holder, BlockSize: size, Replication: 1, Overwrite: true})
	must(err)
	p, err := api.DFSAddBlock.Call(ctx, cl, order.Master, wire.AddBlockRequest{File: f.File.ID, Holder: holder})
	must(err)
	return p
}

// addresses makes a worker connect to a stranger: as the next replica of a block of its own, and as a source of bytes.
func addresses() (out []string) {
	cl := caller()
	defer cl.Close()
	there := wire.Place{Node: order.Node, Addr: *target}
	for i, a := range []pipe.WriteArgs{{Next: []pipe.Hop{{Place: there}}}, {Start: 1, From: &there}} {
		p := begin(cl, fmt.Sprint(home, "addresses", i), 1<<20)
		a.Block, a.Token = p.Block, p.Token
		out = append(out, refused("addresses", open(cl, p.Places[0], a))...)
	}
	return out
}

// openings opens more blocks of a gibibyte than the store has room for, and hangs up. That must not keep anybody from
// writing.
func openings() []string {
	cl := caller()
	defer cl.Close()
	nodes, err := api.DFSNodes.Call(context.Background(), cl, order.Master, struct{}{})
	must(err)
	const size = 1 << 30
	for i := range nodes[0].Volumes[0].Free/size + 5 {
		p := begin(cl, fmt.Sprint(home, "opening", i), size)
		p.Block.Len = size // the announced length
		must(open(cl, p.Places[0], pipe.WriteArgs{Block: p.Block, Token: p.Token}))
	}
	c := dfs.NewClient(dfs.Config{Master: order.Master, Client: cl, Patience: 5 * time.Second})
	w, err := c.Create(context.Background(), home+"after", dfs.CreateOptions{BlockSize: size, Replication: 1})
	must(err)
	_, err = w.Write([]byte("there is room\n"))
	must(err)
	if err := w.Close(); err != nil {
		return []string{"got:openings: " + err.Error()}
	}
	must(c.Close())
	return []string{"denied:openings"}
}

// crowd keeps slow bodies and padded calls under way. The master ends the slow ones, and meanwhile answers others.
func crowd() []string {
	cl := caller()
	defer cl.Close()
	var wg sync.WaitGroup
	stayed := make([]bool, 8)
	for i := range stayed {
		wg.Go(func() { stayed[i] = slowBody() })
	}
	for range 4 {
		wg.Go(func() {
			_, err := api.DFSStat.Call(context.Background(), cl, order.Master, wire.PathRequest{Path: "/" + strings.Repeat("x", 2<<20)})
			if err == nil {
				panic("there is such a file")
			}
		})
	}
	late := time.Duration(0)
	for range 10 {
		began := time.Now()
		_, err := api.DFSStat.Call(context.Background(), cl, order.Master, wire.PathRequest{Path: "/in"})
		must(err)
		late = max(late, time.Since(began))
		time.Sleep(100 * time.Millisecond)
	}
	wg.Wait()
	for _, s := range stayed {
		if s || late > 3*time.Second {
			return []string{"got:crowd"}
		}
	}
	return []string{"denied:crowd"}
}

// slowBody sends a request a byte at a time. It returns true if the master bears that for half a minute.
func slowBody() bool {
	cfg, err := secure.FromPEM([]byte(order.Credential))
	must(err)
	plain, err := dial(order.Master)
	must(err)
	defer plain.Close()
	c := tls.Client(plain, cfg.TLS)
	_, err = io.WriteString(c, "POST "+rpc.Prefix+"dfs.stat HTTP/1.1\r\nHost: master\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
	must(err)
	ended := make(chan struct{})
	go func() {
		_, _ = io.ReadAll(c) // only its end matters
		close(ended)
	}()
	for range 150 {
		select {
		case <-ended:
			return false
		case <-time.After(200 * time.Millisecond):
			_, _ = c.Write([]byte(" ")) // an error means that it has ended, which the reader sees
		}
	}
	return true
}

func dial(addr string) (net.Conn, error) {
	if order.Gate != 0 {
		return ask(addr)
	}
	return net.DialTimeout("tcp", addr, 3*time.Second)
}

// hash stores a program under the hash of another user's, in the other's store and by a submission.
func hash() (out []string) {
	cl := caller()
	defer cl.Close()
	ctx := context.Background()
	_, err := api.DFSCreate.Call(ctx, cl, order.Master, wire.CreateRequest{
		Path: "/user/ann/.millrace/shipped/" + *target, User: "ann", Holder: "h", Parents: true, Overwrite: true,
	})
	out = refused("hash", err)
	_, err = api.JobSubmit.Call(ctx, cl, order.Master, wire.JobSpec{
		Name: "x", User: "ann", Stages: 1, Program: wire.Program{Exe: home + "exe", Hash: *target},
	})
	return append(out, refused("hash", err)...)
}

// logs reads what another job prints, at the master and at the worker.
func logs() (out []string) {
	cl := caller()
	defer cl.Close()
	ctx := context.Background()
	id := wire.AttemptID{Job: wire.JobID(*target), Kind: wire.ReduceTask}
	_, err := api.JobLog.Call(ctx, cl, order.Master, wire.LogRequest{ID: id})
	out = refused("logs", err)
	_, err = api.JobStatus.Call(ctx, cl, order.Master, wire.JobRequest{Job: id.Job})
	out = append(out, refused("logs", err)...)
	own, err := api.DFSLocate.Call(ctx, cl, order.Master, wire.LocateRequest{Path: "/in", Len: -1})
	must(err)
	_, err = api.TaskLog.Call(ctx, cl, own.Blocks[0].Places[0].Addr, wire.LogRequest{ID: id})
	return append(out, refused("logs", err)...)
}

// renew asks for a certificate that outlives the job.
func renew() []string {
	cl := caller()
	defer cl.Close()
	_, err := api.CertRenew.Call(context.Background(), cl, order.Master, wire.RenewRequest{Public: make([]byte, 32)})
	return refused("renew", err)
}
