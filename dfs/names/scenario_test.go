package names

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/millrace/millrace/internal/wire"
)

// TestScenarios runs the stories of testdata/scenarios; doc of the words is in their
// handler below.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		r := newRig(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r.t = t
			out, err := r.run(d)
			if err != nil {
				out += fmt.Sprintf("%v: %v\n", wire.KindOf(err), err)
			}
			if out == "" {
				out = "ok\n"
			}
			return out
		})
	})
}

// arg returns an argument of a command, or a default.
func arg(d *datadriven.TestData, key, otherwise string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return otherwise
}

func number(d *datadriven.TestData, key string, otherwise int64) (n int64) {
	if _, err := fmt.Sscan(arg(d, key, fmt.Sprint(otherwise)), &n); err != nil {
		panic(err)
	}
	return n
}

func has(d *datadriven.TestData, key string) bool { return d.HasArg(key) }

// first is the first word behind the command.
func first(d *datadriven.TestData) string {
	if len(d.CmdArgs) == 0 {
		return ""
	}
	return d.CmdArgs[0].Key
}

func span(d *datadriven.TestData, key, otherwise string) time.Duration {
	v, err := time.ParseDuration(arg(d, key, otherwise))
	if err != nil {
		panic(err)
	}
	return v
}

func (r *rig) run(d *datadriven.TestData) (string, error) {
	if handle, ok := map[string]func(*datadriven.TestData) (string, error){
		"cluster": r.doCluster, "step": r.doStep, "put": r.doPut, "create": r.doCreate, "add": r.doAdd, "bump": r.doBump,
		"complete": r.doComplete, "where": r.doWhere, "fsck": r.doFsck, "ls": r.doList, "usage": r.doUsage,
	}[d.Cmd]; ok {
		return handle(d)
	}
	return r.small(d)
}

// small are the commands that do something to nodes or to the rig.
func (r *rig) small(d *datadriven.TestData) (out string, err error) {
	name := wire.NodeName(first(d))
	switch d.Cmd {
	case "node":
		r.addNode(name, arg(d, "rack", "r0"), number(d, "free", 1<<39))
	case "kill":
		for _, a := range d.CmdArgs {
			r.nodes[wire.NodeName(a.Key)].up = false
		}
	case "lost":
		for _, a := range d.CmdArgs {
			r.nodes[wire.NodeName(a.Key)].up = false
			r.s.Lost(wire.NodeName(a.Key))
		}
	case "start":
		for _, a := range d.CmdArgs {
			r.startNode(wire.NodeName(a.Key))
		}
	case "wipe":
		clear(r.nodes[name].has)
	case "refuse":
		r.nodes[name].refuse = !has(d, "off")
	case "rot":
		return "", r.rot(name, wire.BlockID(number(d, "block", 1)))
	case "mute":
		r.mute = !has(d, "off")
	case "restart":
		r.restart()
	case "checkpoint":
		err = r.s.Checkpoint()
	case "jump":
		r.wall = r.wall.Add(span(d, "by", "1h"))
	case "weigh":
		return r.weigh(), nil
	default:
		return r.call(d)
	}
	return out, err
}

// call are the commands that call the service once.
func (r *rig) call(d *datadriven.TestData) (out string, err error) {
	name := wire.NodeName(first(d))
	switch d.Cmd {
	case "rm":
		err = r.s.Delete(wire.DeleteRequest{Path: first(d), Recursive: has(d, "recursive")})
	case "mv":
		_, err = r.s.Rename(wire.RenameRequest{From: first(d), To: d.CmdArgs[1].Key, Replace: has(d, "replace")})
	case "mkdir":
		_, err = r.s.Mkdir(wire.MkdirRequest{Path: first(d), User: arg(d, "user", "u"), Parents: has(d, "parents")})
	case "renew":
		err = r.s.RenewLease(wire.LeaseRequest{Holder: first(d)})
	case "abandon":
		err = r.s.Abandon(wire.LeaseRequest{Holder: arg(d, "holder", "client"), File: wire.FileID(number(d, "file", 0))})
	case "replication":
		_, err = r.s.SetReplication(wire.SetReplicationRequest{Path: first(d), Replication: int(number(d, "n", 3))})
	case "quota":
		err = r.s.SetQuota(wire.QuotaRequest{Path: arg(d, "path", ""), Of: arg(d, "of", ""), Files: number(d, "files", -1), Bytes: number(d, "bytes", -1)})
	case "safemode":
		m, err := r.s.SafeMode(wire.SafeModeRequest{Set: first(d)})
		return fmt.Sprintf("on=%v manual=%v reported=%.2f %s\n", m.On, m.Manual, m.Reported, m.Why), err
	case "drain":
		_, err = r.s.Drain(wire.DrainRequest{Node: name, Undo: has(d, "undo"), Force: has(d, "force")})
	case "nodes":
		for _, n := range r.s.Nodes() {
			out += fmt.Sprintf("%s %s %s blocks=%d left=%d\n", n.Node, n.Rack, n.State, n.Blocks, n.Left)
		}
	case "balance":
		st, err := r.s.Balance(wire.BalanceRequest{Set: first(d)})
		return fmt.Sprintf("running=%v moved=%d %s\n", st.Running, st.Moved, st.Why), err
	default:
		err = fmt.Errorf("unknown command %s", d.Cmd)
	}
	return out, err
}

// weigh makes volumes of 10,000 bytes as full as what lies on them.
func (r *rig) weigh() (out string) {
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		w := r.nodes[name]
		w.weighed = true
		used := w.weigh()
		out += fmt.Sprintf("%s %d\n", name, used)
	}
	return out
}

func (w *worker) weigh() (used int64) {
	for _, b := range w.has {
		used += b.Len
	}
	w.req.Volumes = []wire.Volume{{ID: "v", Total: 10_000, Free: 10_000 - used}}
	return used
}

// rot damages a replica; its node finds it with the next heartbeat.
func (r *rig) rot(name wire.NodeName, id wire.BlockID) error {
	w := r.nodes[name]
	b, ok := w.has[id]
	if !ok {
		return fmt.Errorf("%s does not have block %d", name, id)
	}
	w.bad[id] = true
	w.accused = append(w.accused, wire.BadBlock{Block: b, Why: "rot"})
	return nil
}

func (r *rig) doCluster(d *datadriven.TestData) (string, error) {
	r.cfg.DeadAfter = span(d, "dead", "10s")
	r.cfg.LeaseTimeout = span(d, "lease", "60s")
	r.cfg.RecoverGiveUp = span(d, "giveup", "2m")
	r.cfg.CopyStreams = int(number(d, "streams", 16))
	r.open()
	racks := number(d, "racks", 1)
	for i := range number(d, "nodes", 0) {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), fmt.Sprintf("r%d", i%racks), 1<<39)
	}
	return "", r.s.Tick()
}

func (r *rig) doStep(d *datadriven.TestData) (string, error) {
	span, err := time.ParseDuration(first(d))
	if err != nil {
		return "", err
	}
	r.log = nil
	r.step(span)
	if has(d, "count") {
		copies := strings.Count(r.takeLog(), "copies")
		return fmt.Sprintf("%d copies\n", copies), nil
	}
	return r.takeLog(), nil
}

func (r *rig) doPut(d *datadriven.TestData) (string, error) {
	return "", r.put(wire.CreateRequest{
		Path: first(d), User: arg(d, "user", "u"), Replication: int(number(d, "n", 0)), Parents: has(d, "parents"), Overwrite: has(d, "overwrite"),
	}, int(number(d, "blocks", 1)), wire.NodeName(arg(d, "writer", "")))
}

func (r *rig) doCreate(d *datadriven.TestData) (string, error) {
	resp, err := r.s.Create(wire.CreateRequest{
		Path: first(d), User: arg(d, "user", "u"), Holder: arg(d, "holder", "client"), Replication: int(number(d, "n", 0)), BlockSize: 1000,
		Overwrite: has(d, "overwrite"), Request: arg(d, "request", ""),
	})
	return fmt.Sprintf("file %d\n", resp.File.ID), err
}

func (r *rig) previous(d *datadriven.TestData) (*wire.Block, []wire.NodeName) {
	id := wire.BlockID(number(d, "previous", 0))
	if id == 0 {
		return nil, nil
	}
	var stored []wire.NodeName
	b := wire.Block{ID: id}
	for _, name := range slices.Sorted(maps.Keys(r.nodes)) {
		if has, ok := r.nodes[name].has[id]; ok && r.nodes[name].up && has.Gen >= b.Gen {
			if has.Gen > b.Gen {
				stored = nil
			}
			b = has
			stored = append(stored, name)
		}
	}
	return &b, stored
}

// doAdd asks for a block and, with wrote, stores that many bytes of it.
func (r *rig) doAdd(d *datadriven.TestData) (string, error) {
	previous, stored := r.previous(d)
	p, err := r.s.AddBlock(wire.AddBlockRequest{
		File: wire.FileID(number(d, "file", 0)), Holder: arg(d, "holder", "client"), Writer: wire.NodeName(arg(d, "writer", "")),
		Previous: previous, Stored: stored, Exclude: r.names(d, "exclude"),
	})
	if err != nil {
		return "", err
	}
	return r.wrote(d, p)
}

func (r *rig) wrote(d *datadriven.TestData, p wire.Pipeline) (string, error) {
	if has(d, "wrote") {
		for i, place := range p.Places {
			b := p.Block
			b.Len = number(d, "wrote", 0) + 10*int64(i)*number(d, "uneven", 0)
			r.nodes[place.Node].has[b.ID] = b
		}
	}
	var names []string
	for _, place := range p.Places {
		names = append(names, string(place.Node))
	}
	return fmt.Sprintf("block %d gen %d on %s\n", p.Block.ID, p.Block.Gen, strings.Join(names, " ")), nil
}

func (r *rig) names(d *datadriven.TestData, key string) (list []wire.NodeName) {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			for _, v := range a.Vals {
				list = append(list, wire.NodeName(v))
			}
		}
	}
	return list
}

func (r *rig) doBump(d *datadriven.TestData) (string, error) {
	p, err := r.s.Bump(wire.BumpRequest{
		File: wire.FileID(number(d, "file", 0)), Holder: arg(d, "holder", "client"),
		Block: wire.Block{ID: wire.BlockID(number(d, "block", 0)), Gen: uint64(number(d, "gen", 0))},
		Alive: r.names(d, "alive"), Exclude: r.names(d, "exclude"),
	})
	if err != nil {
		return "", err
	}
	return r.wrote(d, p)
}

func (r *rig) doComplete(d *datadriven.TestData) (string, error) {
	last, stored := r.previous(d)
	fi, err := r.s.Complete(wire.CompleteRequest{File: wire.FileID(number(d, "file", 0)), Holder: arg(d, "holder", "client"), Last: last, Stored: stored, CRC: uint32(number(d, "crc", 7))})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s len=%d\n", fi.Path, fi.Len), nil
}

func (r *rig) doWhere(d *datadriven.TestData) (out string, err error) {
	resp, err := r.s.Locate(wire.LocateRequest{Path: first(d), Len: -1, Reader: wire.NodeName(arg(d, "reader", ""))})
	for _, b := range resp.Blocks {
		var names []string
		for _, p := range b.Places {
			names = append(names, string(p.Node)+"/"+p.Rack)
		}
		if !has(d, "reader") {
			slices.Sort(names)
		}
		out += fmt.Sprintf("%d gen %d at %d+%d: %s\n", b.ID, b.Gen, b.Off, b.Len, strings.Join(names, " "))
	}
	return out, err
}

func (r *rig) doFsck(d *datadriven.TestData) (out string, err error) {
	req := wire.FsckRequest{Path: cmpOr(first(d), "/"), All: has(d, "all"), Limit: int(number(d, "limit", 0))}
	for {
		resp, err := r.s.Fsck(req)
		if err != nil {
			return out, err
		}
		for _, f := range resp.Files {
			out += fmt.Sprintf("%s %s %s\n", f.Path, f.Status, f.Problem)
		}
		out += fmt.Sprintf("files=%d blocks=%d under=%d over=%d missing=%d corrupt=%d\n", resp.Scanned, resp.Blocks, resp.Under, resp.Over, resp.Missing, resp.Corrupt)
		if !resp.More {
			return out, nil
		}
		req.After = resp.Last
	}
}

func cmpOr(a, b string) string {
	if strings.HasPrefix(a, "/") {
		return a
	}
	return b
}

func (r *rig) doList(d *datadriven.TestData) (out string, err error) {
	resp, err := r.s.List(wire.ListRequest{Path: first(d), After: arg(d, "after", ""), Limit: int(number(d, "limit", 0))})
	for _, e := range resp.Entries {
		out += fmt.Sprintf("%s id=%d dir=%v open=%v len=%d crc=%v\n", e.Path, e.ID, e.Dir, e.Open, e.Len, e.HasCRC)
	}
	if resp.More {
		out += "more\n"
	}
	if out == "" && err == nil {
		out = "empty\n"
	}
	return out, err
}

func (r *rig) doUsage(d *datadriven.TestData) (string, error) {
	u, err := r.s.Usage(wire.QuotaRequest{Path: arg(d, "path", ""), Of: arg(d, "of", "")})
	return fmt.Sprintf("files=%d dirs=%d len=%d bytes=%d of files=%d bytes=%d\n", u.Files, u.Dirs, u.Len, u.Bytes, u.QuotaFiles, u.QuotaBytes), err
}
