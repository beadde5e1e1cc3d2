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
	"sync"
	"syscall"

	"github.com/millrace/millrace/dfs"
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
	Memory     int64  `json:"memory"`
}

// A Word is what the child says on file descriptor 3, one JSON object on a line each. The last one
// says how the attempt ended.
type Word struct {
	Progress *float64       `json:"progress,omitempty"`
	BadFetch *wire.BadFetch `json:"bad_fetch,omitempty"`
	Ended    *wire.Ended    `json:"ended,omitempty"`
	Output   string         `json:"output,omitempty"` // file of a map's output
}

// maxOrder bounds an order: a split of many files is long.
const maxOrder = 16 << 20

// Child runs the attempt that the worker ordered and returns the process's exit code.
func Child(stages []mapreduce.Job) int {
	out := os.NewFile(3, "worker")
	say := speaker(out)
	end, path, err := child(stages, say)
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

func child(stages []mapreduce.Job, say func(Word) error) (end wire.Ended, path string, err error) {
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
	rc := rpc.NewClient(cc)
	fs := dfs.NewClient(dfs.Config{Master: o.Master, Client: rc, User: o.Launch.Spec.User, Node: o.Node})
	defer func() { err = errors.Join(err, fs.Close(), rc.Close()) }()
	files := ctx
	if o.Launch.ID.Kind == wire.DriverTask {
		files = context.WithoutCancel(ctx) // a driver that is stopped still cleans up
	}
	s := &Setting{
		Master: o.Master, Client: rc, Node: o.Node, Scratch: o.Scratch, SideDir: o.SideDir,
		Pool: shuffle.NewPool(o.Memory), MaxRecord: int(min(o.Memory/4, 1<<30)),
		Store: storage.Mux{Stores: map[string]storage.FS{"dfs": fs.Storage(files)}},
		// If the worker is gone nobody needs to hear it.
		BadFetch: func(b wire.BadFetch) { _ = say(Word{BadFetch: &b}) },
		Progress: func(done float64) { _ = say(Word{Progress: &done}) },
	}
	end, output := Run(ctx, s, &o.Launch, stages)
	if output == nil {
		return end, "", nil
	}
	if err := output.SpillToDisk(); err != nil {
		return wire.Ended{ID: o.Launch.ID, Lost: true, Error: err.Error()}, "", nil
	}
	return end, output.Path(), nil
}
