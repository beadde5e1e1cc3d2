// Command hostile is a word count whose mapper attacks the worker that runs it, and counts what it was denied and what
// it got.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

// attacks are the attacks, on the machine and on the cluster. Each returns what it was denied, and what it got.
var attacks = map[string]func() []string{
	"key": read, "environ": read, "spill": spill, "kill": kill, "fork": fork, "disk": disk, "memory": memory, "network": network,
	"proc": proc, "trace": trace, "calls": calls, "shm": shm, "files": openFiles, "beside": beside, "fifo": fifo,
	"admin": admin, "counters": counters, "texts": texts, "forge": forge, "gate": throughGate, "names": names, "blocks": blocks,
	"write": write, "addresses": addresses, "openings": openings, "crowd": crowd, "hash": hash, "logs": logs, "renew": renew,
	"builtin": builtin,
}

var (
	attack = flag.String("attack", "", "which of the attacks")
	target = flag.String("target", "", "file, directory, process id, job, address, block, hash or seconds; for builtin a file and, on the next lines, a certificate")
	order  attempt.Order
)

func main() {
	if len(os.Args) == 3 && (os.Args[1] == "sleep" || os.Args[1] == "hoard") { // for fork and memory: a machine need not have such commands
		child(os.Args[1], os.Args[2])
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
	var b json.RawMessage
	words := json.NewDecoder(os.Stdin) // of which the order is the first
	must(words.Decode(&b))
	must(json.Unmarshal(b, &order))
	if order.Gate != 0 {
		gate, err := syscall.Dup(order.Gate)
		must(err)
		order.Gate = gate
	}
	rest, stdin := io.MultiReader(bytes.NewReader(b), words.Buffered(), os.Stdin), os.Stdin
	r, w, err := os.Pipe()
	must(err)
	os.Stdin = r
	go func() {
		defer stdin.Close()
		_, err := io.Copy(w, rest)
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
	if run := attacks[*attack]; run != nil {
		return run()
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

// refused is verdict for a call to a daemon: an error other than a refusal does not tell whether the call would have
// been refused.
func refused(what string, err error) []string {
	if err != nil && wire.KindOf(err) != wire.Denied {
		return []string{"unclear:" + what + ": " + err.Error()}
	}
	return verdict(what, err)
}

func child(what, number string) {
	var n int
	_, err := fmt.Sscan(number, &n)
	must(err)
	if what == "sleep" {
		time.Sleep(time.Duration(n) * time.Second)
		return
	}
	var all [][]byte
	for range n {
		all = append(all, bytes.Repeat([]byte("x"), 1<<20))
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Minute)
	fmt.Println(len(all))
}
