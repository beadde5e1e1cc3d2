package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/attempt"
)

// caller returns a client with the job's own credential, through the gate if there is no network.
func caller() *rpc.Client { return callerWith(order.Credential) }

func callerWith(credential string) *rpc.Client {
	cfg, err := secure.FromPEM([]byte(credential))
	must(err)
	if order.Gate != 0 {
		cfg.Dial = func(_ context.Context, addr string) (net.Conn, error) { return ask(addr) }
	}
	return rpc.NewClient(cfg)
}

// admin calls what only administrators and owners may.
func admin() (out []string) {
	cl := caller()
	defer cl.Close()
	ctx := context.Background()
	_, err := api.NodeDrain.Call(ctx, cl, order.Master, wire.DrainRequest{Node: order.Node})
	out = append(out, refused("admin", err)...)
	_, err = api.JobKill.Call(ctx, cl, order.Master, wire.JobRequest{Job: wire.JobID(*target)})
	return append(out, refused("admin", err)...)
}

// builtin submits built-in jobs that read a file of the worker's and write beside it, with the certificate of its user,
// whatever they claim to read and to be allowed.
func builtin() (out []string) {
	path, pem, _ := strings.Cut(*target, "\n")
	cl := callerWith(pem)
	defer cl.Close()
	const there = "dfs:" + home + "stolen"
	for _, spec := range []wire.JobSpec{
		{Output: there, Program: wire.Program{Builtin: "wordcount", Args: []string{"--input=" + path, "--output=" + there}}},
		{
			Output: there, Inputs: []string{"dfs:/in"}, Local: wire.LocalWorker,
			Program: wire.Program{Builtin: "wordcount", Args: []string{"--input=file:" + path, "--output=" + there}},
		},
		{Output: path + ".new", Program: wire.Program{Builtin: "teragen", Args: []string{"--rows=1", "--output=" + path + ".new"}}},
	} {
		spec.Name, spec.Stages = "builtin", 1
		_, err := api.JobSubmit.Call(context.Background(), cl, order.Master, spec)
		out = append(out, refused("builtin", err)...)
	}
	return out
}

// names reads, moves, removes and takes another user's file, and writes beside it.
func names() (out []string) {
	cl := caller()
	defer cl.Close()
	ctx := context.Background()
	const claimed = "ann" // whose it is
	path := *target
	_, err := api.DFSLocate.Call(ctx, cl, order.Master, wire.LocateRequest{Path: path, Len: -1, User: claimed})
	out = append(out, refused("names", err)...)
	_, err = api.DFSRename.Call(ctx, cl, order.Master, wire.RenameRequest{From: path, To: path + "2", User: claimed})
	out = append(out, refused("names", err)...)
	_, err = api.DFSDelete.Call(ctx, cl, order.Master, wire.DeleteRequest{Path: path, User: claimed})
	out = append(out, refused("names", err)...)
	_, err = api.DFSSetRights.Call(ctx, cl, order.Master, wire.SetRightsRequest{Path: path, Mode: 0o777, User: claimed})
	out = append(out, refused("names", err)...)
	_, err = api.DFSMkdir.Call(ctx, cl, order.Master, wire.MkdirRequest{Path: path + ".d", User: claimed})
	return append(out, refused("names", err)...)
}

// blocks reads another user's block, whose number and generation it knows, without a token and with that of a block of
// its own.
func blocks() (out []string) {
	cl := caller()
	defer cl.Close()
	ctx := context.Background()
	own, err := api.DFSLocate.Call(ctx, cl, order.Master, wire.LocateRequest{Path: "/in", Len: -1})
	must(err)
	b := own.Blocks[0]
	var id, gen uint64
	_, err = fmt.Sscan(*target, &id, &gen)
	must(err)
	for _, token := range []string{"", b.Token} {
		r, err := cl.Get(ctx, b.Places[0].Addr, fmt.Sprintf("/blocks/%d?gen=%d&off=0&len=1&token=%s", id, gen, token))
		if err == nil {
			must(r.Body.Close())
		}
		out = append(out, refused("blocks", err)...)
	}
	return out
}

// mouth is the descriptor on which the library writes to the worker. Garbage collection of a second file would close
// it.
var mouth = sync.OnceValue(func() *os.File { return os.NewFile(3, "worker") })

// say writes words to the worker in place of the library.
func say(words ...attempt.Word) {
	enc := json.NewEncoder(mouth())
	for _, w := range words {
		must(enc.Encode(w))
	}
}

// counters ends the attempt with counters of long names: two megabytes in all, or ten for names that JSON has to
// escape.
func counters() []string {
	long := map[string]int64{}
	for i := range 900 {
		long[fmt.Sprint(i, strings.Repeat(*target, 2000))] = 1
	}
	for range 60 { // the library speaks too, perhaps in the middle of it; once it is understood the worker has heard enough
		say(attempt.Word{Ended: &wire.Ended{ID: order.Launch.ID, OK: true, Counts: wire.Counts{"g": long}}})
		time.Sleep(time.Second)
	}
	return []string{"got:counters"}
}

// texts ends the attempt with an error of a megabyte.
func texts() []string {
	for range 60 { // as above
		say(attempt.Word{Ended: &wire.Ended{ID: order.Launch.ID, Error: strings.Repeat("giant ", 150_000), Final: true}})
		time.Sleep(time.Second)
	}
	return []string{"got:texts"}
}

// throughGate asks for a connection to a process that is no daemon. With a network no gate is needed.
func throughGate() []string {
	if order.Gate == 0 {
		return []string{"got:gate"}
	}
	c, err := ask(*target)
	if err == nil {
		must(c.Close())
	}
	return verdict("gate", err)
}

// ask asks the worker to connect, through the file that the library has for that.
func ask(addr string) (net.Conn, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET, 0)
	must(err)
	must(syscall.Sendmsg(order.Gate, []byte(addr), syscall.UnixRights(pair[1]), nil, 0))
	must(syscall.Close(pair[1]))
	text, rights := make([]byte, 1024), make([]byte, 64)
	n, m, _, _, err := syscall.Recvmsg(pair[0], text, rights, 0)
	must(errors.Join(err, syscall.Close(pair[0])))
	if m == 0 {
		return nil, errors.New(string(text[:n]))
	}
	fd, err := attempt.Right(rights[:m])
	must(err)
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}

// forge reports another job's map output as bad, and ends an attempt of it.
func forge() []string {
	var victim wire.AttemptID
	victim.Job, victim.Kind = wire.JobID(*target), wire.MapTask
	for try := range uint64(2000) {
		victim.Try = order.Launch.ID.Try - min(try, order.Launch.ID.Try)
		say(attempt.Word{BadFetch: &wire.BadFetch{Map: victim, By: order.Launch.ID, Why: "forged"}},
			attempt.Word{Ended: &wire.Ended{ID: victim, Error: "forged", Final: true}})
	}
	return []string{"denied:forge"} // the test checks the victim to see whether that is true
}
