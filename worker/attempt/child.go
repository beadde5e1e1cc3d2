package attempt

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// ChildEnv is set, to "1", in the environment of a program that a worker starts to run an attempt.
const ChildEnv = "MILLRACE_TASK"

// An Order is what a worker tells the child on its standard input, as JSON.
type Order struct {
	Launch wire.Launch   `json:"launch"`
	Master string        `json:"master"`
	Node   wire.NodeName `json:"node"`
	// Credential is a certificate that opens what belongs to the job and its user, nothing else.
	Credential string `json:"credential,omitempty"`
	Scratch    string `json:"scratch"`
	SideDir    string `json:"side_dir,omitempty"`
	// Caged says that the process has a user of its own, who may use little of this machine.
	Caged      bool  `json:"caged,omitempty"`
	Memory     int64 `json:"memory"`
	OneMachine bool  `json:"one_machine,omitempty"`
	// Emulate, if set, are the links that this node has.
	Emulate *emulate.Setting `json:"emulate,omitempty"`
	Rack    string           `json:"rack,omitempty"`
	// FetchStall is as in [Setting].
	FetchStall time.Duration `json:"fetch_stall,omitempty"`
}

// A Word is what the child says on file descriptor 3, one JSON object on a line each. The last one
// says how the attempt ended.
type Word struct {
	Progress *float64       `json:"progress,omitempty"`
	BadFetch *wire.BadFetch `json:"bad_fetch,omitempty"`
	Ended    *wire.Ended    `json:"ended,omitempty"`
	Output   string         `json:"output,omitempty"` // file of a map's output
	// Net is what the child has sent to others, in all, said from time to time.
	Net []wire.NetBytes `json:"net,omitempty"`
}

// maxOrder bounds an order: a split of many files is long.
const maxOrder = 16 << 20

// Child runs the attempt that the worker ordered and returns the process's exit code.
func Child(stages []mapreduce.Job) int {
	return ChildOf(func(*wire.Program) ([]mapreduce.Job, error) { return stages, nil })
}

// ChildOf is Child for an executable of several programs: build makes the jobs of the one ordered.
func ChildOf(build func(*wire.Program) ([]mapreduce.Job, error)) int {
	out := os.NewFile(3, "worker")
	say := speaker(out)
	end, path, err := child(build, say)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := say(Word{Ended: &end, Output: path}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// speaker writes words, whole, from several goroutines.
func speaker(w io.Writer) func(Word) error {
	var mu sync.Mutex
	enc := json.NewEncoder(w)
	return func(word Word) error {
		mu.Lock()
		defer mu.Unlock()
		return enc.Encode(word)
	}
}

// sent lists what a meter has counted.
func sent(m *rpc.Meter) (out []wire.NetBytes) {
	for p, b := range m.Read() {
		out = append(out, wire.NetBytes{Peer: wire.NodeName(p.Name), What: string(p.What), Sent: b.Sent})
	}
	return out
}

func child(build func(*wire.Program) ([]mapreduce.Job, error), say func(Word) error) (end wire.Ended, path string, err error) {
	var o Order
	if err := json.NewDecoder(bufio.NewReader(io.LimitReader(os.Stdin, maxOrder))).Decode(&o); err != nil {
		return end, "", fmt.Errorf("the worker's order is not understood: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cc := rpc.ClientConfig{User: o.Launch.Spec.User, Node: string(o.Node)}
	if o.Credential != "" {
		if cc, err = secure.FromPEM([]byte(o.Credential)); err != nil {
			return end, "", err
		}
	}
	cc.At = string(o.Node)
	var rc *rpc.Client
	if o.Emulate != nil {
		here := emulate.Place{Node: string(o.Node), Rack: o.Rack}
		if cc.Shaper, err = o.Emulate.Start(here, emulate.Nodes(func() *rpc.Client { return rc }, o.Master)); err != nil {
			return end, "", err
		}
	}
	rc = rpc.NewClient(cc)
	fs := dfs.NewClient(dfs.Config{Master: o.Master, Client: rc, User: o.Launch.Spec.User, Node: o.Node})
	defer func() { err = errors.Join(err, fs.Close(), rc.Close()) }()
	files := ctx
	if o.Launch.ID.Kind == wire.DriverTask {
		files = context.WithoutCancel(ctx) // a driver that is stopped still cleans up
	}
	s := &Setting{
		Master: o.Master, Client: rc, Node: o.Node, Scratch: o.Scratch, SideDir: o.SideDir,
		OneMachine: o.OneMachine, FetchStall: o.FetchStall, Pool: shuffle.NewPool(o.Memory), MaxRecord: int(min(o.Memory/4, 1<<30)),
		Store: storage.Mux{Stores: map[string]storage.FS{"dfs": fs.Storage(files)}},
		// If the worker is gone nobody needs to hear it.
		BadFetch: func(b wire.BadFetch) { _ = say(Word{BadFetch: &b}) },
		Progress: func(done float64) { _ = say(Word{Progress: &done, Net: sent(rc.Meter())}) },
	}
	stages, err := build(&o.Launch.Spec.Program)
	if err != nil {
		return wire.Ended{ID: o.Launch.ID, Final: true, Error: err.Error()}, "", nil
	}
	end, output := Run(ctx, s, &o.Launch, stages)
	if o.Caged && strings.HasSuffix(end.Error, syscall.EACCES.Error()) {
		end.Error += " (on workers programs run as a user of their own: use dfs: paths, or files that everybody may read)"
	}
	_ = say(Word{Net: sent(rc.Meter())}) // as above
	if output == nil {
		return end, "", nil
	}
	if err := output.SpillToDisk(); err != nil {
		return wire.Ended{ID: o.Launch.ID, Lost: true, Error: err.Error()}, "", nil
	}
	return end, output.Path(), nil
}
