package dfs

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/tick"
	"github.com/millrace/millrace/internal/wire"
)

// Config configures a Client.
type Config struct {
	Master string // address of the name service
	Client *rpc.Client
	User   string
	// Umask applies to new files and directories; "" means the cluster's, 022.
	Umask wire.Umask
	// Node is the cluster node that this process runs on, if any. Its disk is read directly and written first.
	Node wire.NodeName
	// Own begins a replica in this process if the process is that node; otherwise nil.
	Own func(context.Context, pipe.WriteArgs) (*pipe.Head, error)
	// NoLocal switches off reading block files directly.
	NoLocal bool

	// LeaseEvery is how often leases of open files are renewed; 0 means 1 s. It must be
	// well below the name service's limit.
	LeaseEvery time.Duration
	// Patience is how long an operation is retried while the name service or all replicas are out of reach; 0
	// means 30 s.
	Patience time.Duration
	// Hedge is how long a replica may take to answer before another is asked too; 0 means 300 ms. Stall is how
	// long it may pause during a read; 0 means 3 s.
	Hedge, Stall time.Duration
	// Window is how many chunks may be in flight to the replicas; 0 means 64.
	Window int
	Timing pipe.Timing
}

func (c Config) withDefaults() Config {
	for d, v := range map[*time.Duration]time.Duration{
		&c.LeaseEvery: time.Second, &c.Patience: 30 * time.Second, &c.Hedge: 300 * time.Millisecond, &c.Stall: 3 * time.Second,
	} {
		if *d == 0 {
			*d = v
		}
	}
	if c.Window == 0 {
		c.Window = 64
	}
	return c
}

// A Client works with the files of one cluster. Its methods may be called concurrently.
type Client struct {
	cfg    Config
	holder string // of our leases

	mu    sync.Mutex // guards open
	open  int        // files being written
	stop  context.CancelFunc
	lease sync.WaitGroup
}

// NewClient returns a client. It connects on first use.
func NewClient(cfg Config) *Client {
	return &Client{cfg: cfg.withDefaults(), holder: rand.Text()}
}

// As returns a client that works for another user, with their umask, over the same connections. It need not be
// closed.
func (c *Client) As(user string, umask wire.Umask) *Client {
	cfg := c.cfg
	cfg.User, cfg.Umask = user, umask
	return &Client{cfg: cfg, holder: rand.Text()}
}

// call calls the name service and retries while it is out of reach.
func call[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req) (Resp, error) {
	resp, _, err := callTwice(ctx, c, method, req)
	return resp, err
}

// callTwice also reports whether the request may have been carried out before, by a try whose answer was lost.
func callTwice[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req) (resp Resp, again bool, err error) {
	tries := 0
	err = rpc.Retry{For: c.cfg.Patience}.Do(ctx, func() (err error) {
		tries++
		resp, err = method.Call(ctx, c.cfg.Client, c.cfg.Master, req)
		return err
	})
	return resp, tries > 1, err
}

type nothing = struct{}

// checkPaths refuses paths that are not UTF-8. The wire carries text and would change them.
func checkPaths(paths ...string) error {
	for _, p := range paths {
		if !utf8.ValidString(p) {
			return wire.Errorf(wire.Invalid, "path %q is not UTF-8", p)
		}
	}
	return nil
}

// callOn is call for requests about paths.
func callOn[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req, paths ...string) (Resp, error) {
	resp, _, err := callTwiceOn(ctx, c, method, req, paths...)
	return resp, err
}

func callTwiceOn[Req, Resp any](ctx context.Context, c *Client, method rpc.Method[Req, Resp], req Req, paths ...string) (resp Resp, again bool, err error) {
	if err := checkPaths(paths...); err != nil {
		return resp, false, err
	}
	return callTwice(ctx, c, method, req)
}

// Stat describes a file or directory.
func (c *Client) Stat(ctx context.Context, path string) (wire.FileInfo, error) {
	return callOn(ctx, c, api.DFSStat, wire.PathRequest{Path: path, User: c.cfg.User}, path)
}

// List returns one page of a directory.
func (c *Client) List(ctx context.Context, path, after string, limit int) (wire.ListResponse, error) {
	return callOn(ctx, c, api.DFSList, wire.ListRequest{Path: path, User: c.cfg.User, After: after, Limit: limit}, path, after)
}

// ListAll returns a whole directory, by name.
func (c *Client) ListAll(ctx context.Context, path string) ([]wire.FileInfo, error) {
	var all []wire.FileInfo
	for after := ""; ; {
		page, err := c.List(ctx, path, after, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Entries...)
		if !page.More || len(page.Entries) == 0 {
			return all, nil
		}
		after = baseName(page.Entries[len(page.Entries)-1].Path)
	}
}

// Mkdir makes a directory; with parents also those above it, and it may exist.
func (c *Client) Mkdir(ctx context.Context, path string, parents bool) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSMkdir, wire.MkdirRequest{Path: path, User: c.cfg.User, Parents: parents, Umask: c.cfg.Umask}, path)
	if again && wire.KindOf(err) == wire.Exists {
		return nil
	}
	return err
}

// Rename moves a file or directory in one step. With replace it replaces an existing file.
func (c *Client) Rename(ctx context.Context, from, to string, replace bool) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSRename, wire.RenameRequest{From: from, To: to, User: c.cfg.User, Replace: replace}, from, to)
	if again && wire.KindOf(err) == wire.NotFound {
		if _, e := c.Stat(ctx, to); e == nil {
			return nil // the first try succeeded, but its answer was lost
		}
	}
	return err
}

// ReplaceDir moves a directory in one step, replacing a directory at its new name with all below it. A retry
// after a lost answer returns NotFound.
func (c *Client) ReplaceDir(ctx context.Context, from, to string) error {
	_, err := callOn(ctx, c, api.DFSRename, wire.RenameRequest{From: from, To: to, User: c.cfg.User, Tree: true}, from, to)
	return err
}

// movesInCall is how many files one call moves.
const movesInCall = 500

// RenameAll moves files in few calls, each replacing what is at its new name. Files that were moved before are
// skipped, so RenameAll may be repeated.
func (c *Client) RenameAll(ctx context.Context, moves []wire.Move) error {
	for some := range slices.Chunk(moves, movesInCall) {
		var paths []string
		for _, m := range some {
			paths = append(paths, m.From, m.To)
		}
		if _, err := callOn(ctx, c, api.DFSRenameAll, wire.RenameAllRequest{Moves: some, User: c.cfg.User}, paths...); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a file, or with recursive a directory and all below it.
func (c *Client) Remove(ctx context.Context, path string, recursive bool) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSDelete, wire.DeleteRequest{Path: path, User: c.cfg.User, Recursive: recursive}, path)
	if again && wire.KindOf(err) == wire.NotFound {
		return nil
	}
	return err
}

// Discard moves a file, or with recursive a directory and all below it, into the user's trash.
func (c *Client) Discard(ctx context.Context, path string, recursive bool) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSDelete, wire.DeleteRequest{Path: path, User: c.cfg.User, Recursive: recursive, Trash: true}, path)
	if again && wire.KindOf(err) == wire.NotFound {
		return nil
	}
	return err
}

// SetRights changes owner, group and mode. Empty and negative values change nothing.
func (c *Client) SetRights(ctx context.Context, r wire.SetRightsRequest) error {
	r.User = c.cfg.User
	_, err := callOn(ctx, c, api.DFSSetRights, r, r.Path, r.Owner, r.Group)
	return err
}

// Snapshot keeps the content of a directory, which can then be read at path/.snapshot/name.
func (c *Client) Snapshot(ctx context.Context, path, name string) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSSnapshot, wire.SnapshotRequest{Path: path, Name: name, User: c.cfg.User}, path, name)
	if again && wire.KindOf(err) == wire.Exists {
		return nil
	}
	return err
}

// RemoveSnapshot removes a snapshot of a directory.
func (c *Client) RemoveSnapshot(ctx context.Context, path, name string) error {
	_, again, err := callTwiceOn(ctx, c, api.DFSSnapshot, wire.SnapshotRequest{Path: path, Name: name, User: c.cfg.User, Remove: true}, path, name)
	if again && wire.KindOf(err) == wire.NotFound {
		return nil
	}
	return err
}

// SetReplication changes how many copies of a file there should be.
func (c *Client) SetReplication(ctx context.Context, path string, n int) error {
	_, err := callOn(ctx, c, api.DFSSetReplication, wire.SetReplicationRequest{Path: path, User: c.cfg.User, Replication: n}, path)
	return err
}

// Usage returns what a directory holds.
func (c *Client) Usage(ctx context.Context, path string) (wire.Usage, error) {
	return callOn(ctx, c, api.DFSUsage, wire.QuotaRequest{Path: path, User: c.cfg.User}, path)
}

// UsageOf returns the usage and the quota of a directory or user.
func (c *Client) UsageOf(ctx context.Context, q wire.QuotaRequest) (wire.Usage, error) {
	return callOn(ctx, c, api.DFSUsage, wire.QuotaRequest{Path: q.Path, Of: q.Of, User: c.cfg.User}, q.Path, q.Of)
}

// SetQuota limits a directory or a user.
func (c *Client) SetQuota(ctx context.Context, q wire.QuotaRequest) error {
	q.User = c.cfg.User
	_, err := callOn(ctx, c, api.DFSSetQuota, q, q.Path, q.Of)
	return err
}

// Locate returns where the bytes [off, off+length) of a file are.
func (c *Client) Locate(ctx context.Context, path string, off, length int64) (wire.LocateResponse, error) {
	return callOn(ctx, c, api.DFSLocate, wire.LocateRequest{
		Path: path, User: c.cfg.User, Off: off, Len: length, Reader: c.cfg.Node,
	}, path)
}

// Nodes lists the block services.
func (c *Client) Nodes(ctx context.Context) ([]wire.StoreNode, error) {
	return call(ctx, c, api.DFSNodes, nothing{})
}

// Drain takes a node out of service, or with undo back into it.
func (c *Client) Drain(ctx context.Context, node string, undo bool) error {
	return c.DrainNode(ctx, wire.DrainRequest{Node: wire.NodeName(node), Undo: undo})
}

// DrainNode is Drain with all options.
func (c *Client) DrainNode(ctx context.Context, r wire.DrainRequest) error {
	r.User = c.cfg.User
	_, err := call(ctx, c, api.DFSDrain, r)
	return err
}

// Balance starts, stops or describes the moving of replicas to emptier nodes.
func (c *Client) Balance(ctx context.Context, r wire.BalanceRequest) (wire.BalanceStatus, error) {
	r.User = c.cfg.User
	return call(ctx, c, api.DFSBalance, r)
}

// Fsck returns one page of the health report.
func (c *Client) Fsck(ctx context.Context, r wire.FsckRequest) (wire.FsckResponse, error) {
	r.User = c.cfg.User
	return callOn(ctx, c, api.DFSFsck, r, r.Path, r.After)
}

// SafeMode describes safe mode. With "enter" or "leave" it changes it.
func (c *Client) SafeMode(ctx context.Context, set string) (wire.SafeMode, error) {
	return call(ctx, c, api.DFSSafemode, wire.SafeModeRequest{Set: set, User: c.cfg.User})
}

// holdLease keeps leases renewed while a file is open for writing.
func (c *Client) holdLease() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open++; c.open > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.lease.Go(func() { c.renew(ctx) })
}

func (c *Client) renew(ctx context.Context) {
	for range tick.Every(ctx, c.cfg.LeaseEvery) {
		rctx, cancel := context.WithTimeout(ctx, 5*c.cfg.LeaseEvery)
		// If this fails, the next call may succeed. If none does, writing the file fails.
		_, _ = api.DFSRenew.Call(rctx, c.cfg.Client, c.cfg.Master, wire.LeaseRequest{Holder: c.holder})
		cancel()
	}
}

func (c *Client) dropLease() {
	c.mu.Lock()
	c.open--
	last := c.open == 0
	stop := c.stop
	c.mu.Unlock()
	if last {
		stop()
	}
}

// Close waits for what the client started. Files must be closed before.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.stop != nil {
		c.stop()
	}
	c.mu.Unlock()
	c.lease.Wait()
	return nil
}
