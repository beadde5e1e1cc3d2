package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
)

// answering serves some calls of a master, as handle registers them, and returns a client of them.
func answering(t *testing.T, cfg client.Config, handle func(s *rpc.Server)) *client.Client {
	t.Helper()
	cfg.Master, _ = rpctest.Serve(t, handle)
	return connect(t, cfg)
}

// TestSubmitSaysWho: a job is handed in with the client's user and rights where it has none of its own, and with a word of its own each time, by which the
// master knows it again.
func TestSubmitSaysWho(t *testing.T) {
	var got []wire.JobSpec
	cl := answering(t, client.Config{User: "ann", Umask: "077"}, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.JobSubmit, func(_ rpc.Caller, spec wire.JobSpec) (wire.Submitted, error) {
			got = append(got, spec)
			return wire.Submitted{Job: wire.JobID(fmt.Sprint("job-", len(got)))}, nil
		})
	})
	for i, spec := range []wire.JobSpec{{Name: "x"}, {Name: "x"}, {User: "bob", Umask: "022", Request: "mine"}} {
		if id, err := cl.Submit(t.Context(), spec); err != nil || id != wire.JobID(fmt.Sprint("job-", i+1)) {
			t.Fatal(id, err)
		}
	}
	for i, want := range []wire.JobSpec{{User: "ann", Umask: "077"}, {User: "ann", Umask: "077"}, {User: "bob", Umask: "022"}} {
		if got[i].User != want.User || got[i].Umask != want.Umask || got[i].Request == "" {
			t.Errorf("job %d is handed in as %+v", i, got[i])
		}
	}
	if got[0].Request == got[1].Request || got[2].Request != "mine" {
		t.Errorf("the words are %q, %q and %q", got[0].Request, got[1].Request, got[2].Request)
	}
}

// TestEventsComeInPages: all of them are told, in order, however many answers they take; an error on the way is returned, and a job of which nothing is
// known has a summary of nothing.
func TestEventsComeInPages(t *testing.T) {
	fail := false
	cl := answering(t, client.Config{User: "ann"}, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.HistoryEvents, func(_ rpc.Caller, r wire.PastEventsRequest) (out wire.PastEvents, err error) {
			page := 0
			if len(r.From) > 0 {
				page = int(r.From[0])
			}
			if fail && page == 1 {
				return out, wire.Errorf(wire.Denied, "no more")
			}
			for i := range 2 {
				out.Events = append(out.Events, wire.PastEvent{Text: string(r.Job), Index: int32(2*page + i)})
			}
			if page < 2 {
				out.Next = []byte{byte(page + 1)}
			}
			return out, nil
		})
		rpc.HandleQuick(s, api.HistoryJob, func(rpc.Caller, wire.JobRequest) (*wire.PastSummary, error) { return nil, nil })
	})
	for _, want := range [][]int32{{0, 1, 2, 3, 4, 5}, {0, 1}} {
		var got []int32
		err := cl.Events(t.Context(), "job-1", func(e *wire.PastEvent) {
			if e.Text != "job-1" {
				t.Errorf("of another job: %+v", e)
			}
			got = append(got, e.Index)
		})
		if !slices.Equal(got, want) || (err != nil) != fail || fail && wire.KindOf(err) != wire.Denied {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		fail = true
	}
	if got, err := cl.Summary(t.Context(), "job-1"); err != nil || got.Job != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCallsAreRepeated while the master stops or is out of reach, for as long as the patience is, and no longer; what it refuses is not.
func TestCallsAreRepeated(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		fails int
		err   error
		want  int // calls; 0: more than one
		kind  wire.Kind
	}{
		{0, nil, 1, 0},
		{2, wire.Errorf(wire.Unavailable, "not yet"), 3, 0},
		{2, wire.Errorf(wire.Canceled, "stopping"), 3, 0},
		{1 << 30, wire.Errorf(wire.Denied, "no"), 1, wire.Denied},
		{1 << 30, wire.Errorf(wire.Unavailable, "never"), 0, wire.Unavailable},
	} {
		calls := 0
		cl := answering(t, client.Config{User: "ann", Patience: 500 * time.Millisecond}, func(s *rpc.Server) {
			rpc.HandleQuick(s, api.JobStatus, func(_ rpc.Caller, r wire.JobRequest) (wire.JobStatus, error) {
				if calls++; calls <= x.fails {
					return wire.JobStatus{}, x.err
				}
				return wire.JobStatus{Job: r.Job, State: "SUCCEEDED"}, nil
			})
		})
		for name, ask := range map[string]func() (wire.JobStatus, error){
			"status": func() (wire.JobStatus, error) { return cl.Status(t.Context(), "job-7") },
			"wait":   func() (wire.JobStatus, error) { return cl.Wait(t.Context(), "job-7", nil) },
		} {
			calls = 0
			got, err := ask()
			if wire.KindOf(err) != x.kind || (err == nil) != (x.kind == 0) || err == nil && got.Job != "job-7" || x.want != 0 && calls != x.want || calls == 0 || x.want == 0 && calls < 2 {
				t.Errorf("%s, %v: %d calls, %+v, %v", name, x.err, calls, got, err)
			}
			if asks := err != nil && strings.Contains(err.Error(), "running?"); asks != (name == "status" && x.kind == wire.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAs: a client for another user asks the same master, and leaves the first as it is; what is changed of the block store's settings is so there, too.
func TestAs(t *testing.T) {
	changed := 0
	cl := connect(t, client.Config{Master: "http://h:1", User: "ann", DFS: func(c *dfs.Config) {
		if changed++; c.Master != "h:1" || c.Patience != 10*time.Second || c.Umask != "" || c.Client == nil {
			t.Errorf("%+v", c)
		}
	}})
	bob, err := cl.As("bob")
	if err != nil {
		t.Fatal(err)
	}
	defer bob.Close()
	if bob.User() != "bob" || cl.User() != "ann" || bob.Addr() != "h:1" || changed != 2 || bob.DFS() == cl.DFS() {
		t.Errorf("%s of %s, and %s; %d changes", bob.User(), bob.Addr(), cl.User(), changed)
	}
}
