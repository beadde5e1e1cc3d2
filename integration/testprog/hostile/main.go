// Command hostile is a word count whose mapper attacks the worker that runs it, and counts what it
// was denied and what it got.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/api"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

var (
	attack = flag.String("attack", "", "key, environ, spill, kill, fork, disk, admin, counters, forge, network or gate")
	target = flag.String("target", "", "file, directory, process id, job or seconds")
	order  attempt.Order
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "sleep" { // for fork: a machine need not have such a command
		d, err := time.ParseDuration(os.Args[2] + "s")
		must(err)
		time.Sleep(d)
		return
	}
	if os.Getenv(attempt.ChildEnv) != "" {
		steal()
	}
	millrace.Main(mapreduce.Job{
		Name: "hostile",
		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
			if !bytes.Contains(line, []byte("POISON")) {
				return
			}
			for _, s := range try() {
				emit([]byte(s), 1)
			}
		}),
		Fold: mapreduce.Sum,
	})
}

// steal reads the worker's order, which has the job's credential, before the library does.
func steal() {
	b, err := io.ReadAll(os.Stdin)
	must(err)
	must(json.Unmarshal(b, &order))
	if order.Gate != 0 {
		order.Gate, err = syscall.Dup(order.Gate)
		must(err)
	}
	r, w, err := os.Pipe()
	must(err)
	os.Stdin = r
	go func() {
		_, err := w.Write(b)
		must(err)
		must(w.Close())
	}()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func try() []string {
	switch *attack {
	case "key", "environ":
		_, err := os.ReadFile(*target)
		return verdict(*attack, err)
	case "spill":
		return spill()
	case "kill":
		var pid int
		_, err := fmt.Sscan(*target, &pid)
		must(err)
		return verdict("kill", syscall.Kill(pid, syscall.SIGKILL))
	case "fork":
		return fork()
	case "disk":
		return disk()
	case "admin":
		return admin()
	case "counters":
		return counters()
	case "forge":
		return forge()
	case "network":
		c, err := net.DialTimeout("tcp", *target, 3*time.Second)
		if err == nil {
			must(c.Close())
		}
		return verdict("network", err)
	case "gate":
		return throughGate()
	}
	return []string{"unknown:" + *attack}
}

func verdict(what string, err error) []string {
	if err == nil {
		return []string{"got:" + what}
	}
	fmt.Fprintln(os.Stderr, what, err)
	return []string{"denied:" + what}
}

// spill looks for files of others in the worker's directory.
func spill() (out []string) {
	own, err := os.Getwd()
	must(err)
	_ = filepath.WalkDir(*target, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, own) || !d.Type().IsRegular() {
			return nil
		}
		if f, err := os.Open(path); err == nil {
			out = append(out, "got:spill")
			_ = f.Close()
		}
		return nil
	})
	if out == nil {
		out = append(out, "denied:spill")
	}
	return out
}

// fork makes processes that leave the group and the session, as a daemon does.
func fork() []string {
	self, err := os.Executable()
	must(err)
	for range 2000 {
		c := exec.Command(self, "sleep", *target)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return verdict("fork", err)
		}
	}
	return verdict("fork", nil)
}

// disk fills files, some without a name, until it is stopped.
func disk() []string {
	mb := make([]byte, 1<<20)
	for i := range 4000 {
		f, err := os.Create(fmt.Sprint("fill-", i))
		if err != nil {
			return verdict("disk", err)
		}
		if i%2 == 0 {
			must(os.Remove(f.Name()))
		}
		if _, err := f.Write(mb); err != nil {
			return verdict("disk", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return verdict("disk", nil)
}

// admin calls what only administrators and owners may, with the job's own credential.
func admin() (out []string) {
	cfg, err := secure.FromPEM([]byte(order.Credential))
	must(err)
	cl := rpc.NewClient(cfg)
	defer cl.Close()
	ctx := context.Background()
	_, err = api.NodeDrain.Call(ctx, cl, order.Master, wire.DrainRequest{Node: order.Node})
	out = append(out, verdict("admin", err)...)
	_, err = api.JobKill.Call(ctx, cl, order.Master, wire.JobRequest{Job: wire.JobID(*target)})
	return append(out, verdict("admin", err)...)
}

// say puts words into the library's mouth: on the descriptor by which it speaks to the worker.
func say(words ...attempt.Word) {
	enc := json.NewEncoder(os.NewFile(3, "worker"))
	for _, w := range words {
		must(enc.Encode(w))
	}
}

// counters ends the attempt with counters of long names, of two megabytes in all or, of what JSON has to escape, of ten.
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

// throughGate asks the worker, by the file that the library has for it, to connect to somebody who is no daemon. Who has a network needs no gate.
func throughGate() []string {
	if order.Gate == 0 {
		return []string{"got:gate"}
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET, 0)
	must(err)
	must(syscall.Sendmsg(order.Gate, []byte(*target), syscall.UnixRights(pair[1]), nil, 0))
	must(syscall.Close(pair[1]))
	text, rights := make([]byte, 1024), make([]byte, 64)
	n, m, _, _, err := syscall.Recvmsg(pair[0], text, rights, 0)
	must(err)
	if m > 0 {
		return verdict("gate", nil)
	}
	return verdict("gate", errors.New(string(text[:n])))
}

// forge complains of another job's map output, and ends an attempt of it.
func forge() []string {
	var victim wire.AttemptID
	victim.Job, victim.Kind = wire.JobID(*target), wire.MapTask
	for try := range uint64(2000) {
		victim.Try = order.Launch.ID.Try - min(try, order.Launch.ID.Try)
		say(attempt.Word{BadFetch: &wire.BadFetch{Map: victim, By: order.Launch.ID, Why: "forged"}},
			attempt.Word{Ended: &wire.Ended{ID: victim, Error: "forged", Final: true}})
	}
	return []string{"denied:forge"} // whether it was the test sees on the victim
}
