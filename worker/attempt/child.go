package attempt

import (
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
	"github.com/millrace/millrace/task"
)

// ChildEnv is set to "1" in the environment of a program that a worker starts to run an attempt.
const ChildEnv = "MILLRACE_TASK"

// An Order is what a worker sends to the child on its standard input, as JSON.
type Order struct {
	Launch wire.Launch   `json:"launch"`
	Master string        `json:"master"`
	Node   wire.NodeName `json:"node"`
	// Credential is a certificate that gives access only to what belongs to the job and its user.
	Credential string `json:"credential,omitempty"`
	Scratch    string `json:"scratch"`
	SideDir    string `json:"side_dir,omitempty"`
	// Sandboxed says that the program runs with few rights on this machine.
	Sandboxed  bool  `json:"sandboxed,omitempty"`
	Memory     int64 `json:"memory"`
	OneMachine bool  `json:"one_machine,omitempty"`
	// Emulate, if set, describes the links of this node.
	Emulate *emulate.Setting `json:"emulate,omitempty"`
	Rack    string           `json:"rack,omitempty"`
	// Speed, if not 0, is that of the machine to which attempts are paced.
	Speed float64 `json:"speed,omitempty"`
	// FetchStall is as in [Setting].
	FetchStall time.Duration `json:"fetch_stall,omitempty"`
	// Gate, if not 0, is the file through which the worker connects this process to the cluster: it has no
	// network.
	Gate int `json:"gate,omitempty"`
}

// A Credential follows the order on the same input, whenever the child's certificate is to be replaced: it ends after a
// week, or when the clocks are set.
type Credential struct {
	Text string `json:"credential"`
}

// A Word is a message of the child on file descriptor 3, one JSON object on each line. The last one says how
// the attempt ended.
type Word struct {
	Progress *float64       `json:"progress,omitempty"`
	BadFetch *wire.BadFetch `json:"bad_fetch,omitempty"`
	Ended    *wire.Ended    `json:"ended,omitempty"`
	Output   string         `json:"output,omitempty"` // file of a map's output
	// Computes says that a paced attempt starts or stops computing.
	Computes *bool `json:"computes,omitempty"`
	// Net is how much the child has sent to others so far, said from time to time.
	Net []wire.NetBytes `json:"net,omitempty"`
}

// maxOrder bounds an order: a split of many files is long.
const maxOrder = 16 << 20

// Child runs the attempt that the worker ordered and returns the exit code of the process.
func Child(stages []mapreduce.Job) int {
	return ChildOf(func(*wire.Program) ([]mapreduce.Job, error) { return stages, nil })
}

// ChildOf is Child for an executable with several programs. build makes the jobs of the one ordered.
func ChildOf(build func(*wire.Program) ([]mapreduce.Job, error)) int {
	out := words()
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

// speaker returns a writer of whole words, for several goroutines.
func speaker(w io.Writer) func(Word) error {
	var mu sync.Mutex // guards enc: two words written at once would mix
	enc := json.NewEncoder(w)
	return func(word Word) error {
		mu.Lock()
		defer mu.Unlock()
		return enc.Encode(word)
	}
}

// localDisk returns what a process of its own may open: what its user id may, if the job may name local paths
// at all.
func localDisk(spec *wire.JobSpec) func(string) (storage.FS, error) {
	return func(path string) (storage.FS, error) {
		if spec.Local == wire.LocalNone {
			return nil, storage.ErrNotLocal(path)
		}
		return storage.Disk{}, nil
	}
}

// sent returns what a meter has counted.
func sent(m *rpc.Meter) (out []wire.NetBytes) {
	for p, b := range m.Read() {
		out = append(out, wire.NetBytes{Peer: wire.NodeName(p.Name), What: string(p.What), Sent: b.Sent})
	}
	return out
}

// caller returns the program's connection to the cluster. more has the certificates to come.
func (o *Order) caller(more *orders) (c *rpc.Client, err error) {
	cfg := rpc.ClientConfig{User: o.Launch.Spec.User, Node: string(o.Node)}
	if o.Credential != "" {
		h, err := secure.Hold([]byte(o.Credential))
		if err != nil {
			return nil, err
		}
		cfg = h.Client()
		go more.replace(h) // until the worker or this process is gone: nobody can end a read of standard input
	}
	cfg.At = string(o.Node)
	if o.Gate != 0 {
		if cfg.Dial, err = gate(o.Gate); err != nil {
			return nil, err
		}
		if o.Launch.Spec.Program.Exe == "" { // users' commands run as the same user, but must not use the gate
			if err := closeToOthers(); err != nil {
				return nil, err
			}
		}
	}
	if o.Emulate != nil {
		here := emulate.Place{Node: string(o.Node), Rack: o.Rack}
		if cfg.Shaper, err = o.Emulate.Start(here, emulate.Nodes(func() *rpc.Client { return c }, o.Master)); err != nil {
			return nil, err
		}
	}
	return rpc.NewClient(cfg), nil
}

// pace returns the pace of the emulated machine, or nil.
func (o *Order) pace(say func(Word) error) *task.Pace {
	if o.Speed == 0 {
		return nil
	}
	return &task.Pace{Speed: o.Speed, Note: func(change int) {
		w := Word{} // a sign of life
		if on := change > 0; change != 0 {
			w.Computes = &on
		}
		_ = say(w) // without a worker nobody needs it
	}}
}

func child(build func(*wire.Program) ([]mapreduce.Job, error), say func(Word) error) (end wire.Ended, path string, err error) {
	var o Order
	in := newOrders(os.Stdin)
	if err := in.next(&o); err != nil {
		return end, "", fmt.Errorf("the worker's order is not understood: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	rc, err := o.caller(in)
	if err != nil {
		return end, "", err
	}
	fs := dfs.NewClient(dfs.Config{Master: o.Master, Client: rc, User: o.Launch.Spec.User, Umask: o.Launch.Spec.Umask, Node: o.Node})
	defer func() { err = errors.Join(err, fs.Close(), rc.Close()) }()
	budget := shuffle.ShareOf(o.Memory, 1)
	s := &Setting{
		Master: o.Master, Client: rc, Node: o.Node, Rack: o.Rack, OneMachine: o.OneMachine, FetchStall: o.FetchStall,
		Env: task.Env{
			Store:   storage.Mux{Stores: map[string]storage.FS{"dfs": fs.Storage(FilesOf(ctx, &o.Launch))}, Local: localDisk(o.Launch.Spec)},
			Scratch: o.Scratch, Pool: budget.Pool(), MaxRecord: budget.MaxRecord(), SideDir: o.SideDir, Pace: o.pace(say),
		},
		// If the worker is gone, nobody needs to know.
		BadFetch: func(b wire.BadFetch) { _ = say(Word{BadFetch: &b}) },
		Progress: func(done float64) { _ = say(Word{Progress: &done, Net: sent(rc.Meter())}) },
	}
	stages, err := build(&o.Launch.Spec.Program)
	if err != nil {
		return wire.Ended{ID: o.Launch.ID, Final: true, Error: err.Error()}, "", nil
	}
	end, output := Run(ctx, s, &o.Launch, stages)
	if o.Sandboxed && strings.HasSuffix(end.Error, syscall.EACCES.Error()) {
		end.Error += " (on workers programs run as a user of their own: use dfs: paths, or files that everybody may read)"
	}
	_ = say(Word{Net: sent(rc.Meter())}) // likewise
	if output == nil {
		return end, "", nil
	}
	if err := output.SpillToDisk(); err != nil {
		return wire.Ended{ID: o.Launch.ID, Lost: true, Error: err.Error()}, "", nil
	}
	return end, output.Path(), nil
}
