package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestBlocksOfOthers is FAULTS row 91: on a cluster with a key whoever has a certificate, of a user, of another user's task, of
// a task of a job that is not there, or of a node, tries to read blocks without a token, or with one for another block, and to
// put a newer generation in their place by opening it and hanging up. Nothing is read and nothing is lost, and the workers have
// written down whom they refused.
func TestBlocksOfOthers(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Key: k})
	data := text(t, 100_000)
	dfsPut(t, c, "/private", data)
	dfsPut(t, c, "/other", []byte("something else"))
	loc, err := c.DFS.Locate(t.Context(), "/private", 0, -1)
	if err != nil || len(loc.Blocks) != 1 || len(loc.Blocks[0].Places) != 3 {
		t.Fatalf("%+v, %v", loc, err)
	}
	b := loc.Blocks[0]
	for who, a := range attackers(t, k, c) {
		for _, p := range b.Places {
			for _, token := range a.tokens {
				a.attack(t, who, p, b.Block, token)
			}
		}
		a.Close()
	}
	for _, w := range c.Workers {
		for _, call := range []string{"block.write", "GET /blocks/{id}", "block.local"} {
			if n := refusedAt(t, w, call, "bob"); n == 0 {
				t.Errorf("the audit log of %s has nothing of bob's %s", w.Name, call)
			}
		}
	}
	f, err := c.DFS.Open(t.Context(), "/private")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("after the attacks %d bytes are read: %v", len(got), err)
	}
	after, err := c.DFS.Locate(t.Context(), "/private", 0, -1)
	if err != nil || len(after.Blocks) != 1 || len(after.Blocks[0].Places) != 3 {
		t.Errorf("after the attacks: %+v, %v", after, err)
	}
}

// refusedAt counts the refusals of a call of a user in a worker's audit log. Of those of one second only the first are told apart.
func refusedAt(t *testing.T, w *testcluster.Node, call, user string) (n int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.Dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var e audit.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Call == call && e.User == user && !e.Allowed && e.From != "" && e.Error != "" {
			n++
		}
	}
	return n
}

// An attacker has a certificate and tokens that are for something else.
type attacker struct {
	*rpc.Client
	tokens []string
}

func attackers(t *testing.T, k *secure.Key, c *testcluster.Cluster) map[string]attacker {
	t.Helper()
	out := map[string]attacker{}
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--map-time", "5m", "--output", "dfs:/out")
	for who, a := range map[string]struct {
		role     secure.Role
		name, on string
	}{
		"bob": {secure.User, "bob", ""}, "a task of ann's that is not there": {secure.Task, "job-77", "ann"},
		"a task":           {secure.Task, string(id), c.Status(id).User},
		"an administrator": {secure.Admin, "root", ""}, "a node": {secure.Node, "w9", ""},
	} {
		cfg, err := k.Client(a.role, a.name, a.on)
		if err != nil {
			t.Fatal(err)
		}
		at := attacker{rpc.NewClient(cfg), []string{"", "AAAA"}}
		loc, err := rpc.Call[wire.LocateRequest, map[string]any](t.Context(), at.Client, c.Addr, "dfs.locate", wire.LocateRequest{Path: "/other", Len: -1})
		if a.name == "job-77" && wire.KindOf(err) == wire.Denied {
			out[who] = at // it gets no token at all
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if list, _ := loc["blocks"].([]any); len(list) == 1 {
			token, _ := list[0].(map[string]any)["token"].(string)
			at.tokens = append(at.tokens, token)
		}
		out[who] = at
	}
	return out
}

// attack reads a replica, and opens it for writing at a high generation and hangs up.
func (a attacker) attack(t *testing.T, who string, p wire.Place, b wire.Block, token string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	resp, err := a.Get(ctx, p.Addr, fmt.Sprintf("/blocks/%d?gen=%d&off=0&len=%d&token=%s", uint64(b.ID), b.Gen, b.Len, token))
	if err == nil {
		n, _ := io.Copy(io.Discard, resp.Body) // how much came is what counts
		resp.Body.Close()
		t.Errorf("%s read %d bytes of the block at %s", who, n, p.Node)
	}
	for _, resume := range []bool{false, true} {
		st, err := a.Stream(ctx, p.Addr, "block.write", map[string]any{
			"block": wire.Block{ID: b.ID, Gen: 1 << 40, Len: b.Len}, "resume": resume, "token": token,
		})
		if err != nil {
			continue
		}
		_ = st.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = st.In.Peek(1) // it has been opened, or refused
		st.Close()
	}
	if _, err := rpc.Call[map[string]any, map[string]any](ctx, a.Client, p.Addr, "block.local", map[string]any{"block": b, "token": token}); err == nil {
		t.Errorf("%s was told where %s keeps the block", who, p.Node)
	}
}
