package integration

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestBadSubmissions: what cannot work is refused by the master itself, at once and with the reason, whoever asks.
func TestBadSubmissions(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	dfsPut(t, c, "/in", []byte("a b c\n"))
	dfsPut(t, c, "/there/x", []byte("x"))
	alien := elf(0xf3) // RISC-V, which none of our machines is
	dfsPut(t, c, "/alien", alien)
	script := []byte("#!/bin/sh\nexit 0\n")
	dfsPut(t, c, "/script", script)
	count := func(words ...string) wire.Program {
		return wire.Program{Builtin: "wordcount", Args: append([]string{"--input", "dfs:/in"}, words...)}
	}
	for _, tt := range []struct {
		name, want string
		kind       wire.Kind
		spec       wire.JobSpec
	}{
		{"unknown job", `unknown job "nosuch" (known: `, wire.Invalid, wire.JobSpec{Program: wire.Program{Builtin: "nosuch"}}},
		{"no input", "dfs:/none is not in the block store", wire.NotFound, wire.JobSpec{Program: wire.Program{Builtin: "wordcount", Args: []string{"--input", "dfs:/none", "--output", "dfs:/o"}}}},
		{"mistyped input", "did you mean /there/x?", wire.NotFound, wire.JobSpec{Program: wire.Program{Builtin: "wordcount", Args: []string{"--input", "dfs:/theer/x", "--output", "dfs:/o"}}}},
		{"no input of a program", "dfs:/none is not in the block store", wire.NotFound, wire.JobSpec{Program: wire.Program{Exe: "/script", Hash: hashOf(script)}, Inputs: []string{"dfs:/in", "dfs:/none"}}},
		{"output exists", "dfs:/there\": output exists", wire.Exists, wire.JobSpec{Program: count("--output", "dfs:/there"), Output: "dfs:/there"}},
		{"output of a program exists", "dfs:/there\": output exists", wire.Exists, wire.JobSpec{Program: wire.Program{Exe: "/script", Hash: hashOf(script)}, Output: "dfs:/there"}},
		{"many reducers", "1000000, must be in", wire.Invalid, wire.JobSpec{Program: count("--output", "dfs:/o", "--reducers", "1000000")}},
		{"unknown flag", "--nonsense", wire.Invalid, wire.JobSpec{Program: count("--output", "dfs:/o", "--nonsense")}},
		{"no executable", "/nowhere is not in the block store", wire.NotFound, wire.JobSpec{Program: wire.Program{Exe: "/nowhere", Hash: strings.Repeat("ab", 32)}}},
		{"no side file", "side file dict", wire.NotFound, wire.JobSpec{Program: wire.Program{Exe: "/script", Hash: hashOf(script), Files: []wire.Side{{Name: "dict", Path: "/nodict"}}}}},
		{"no hash", "SHA-256", wire.Invalid, wire.JobSpec{Program: wire.Program{Exe: "/alien", Hash: "abc"}}},
		{"wrong architecture", "is for linux/riscv64, and the workers are linux/", wire.Invalid, wire.JobSpec{Program: wire.Program{Exe: "/alien", Hash: hashOf(alien)}}},
		{"oversized", "bytes", wire.TooLarge, wire.JobSpec{Program: count("--output", "dfs:/o"), Name: "x", Pool: strings.Repeat("x", 2<<20)}},
		{"no program", "no program", wire.Invalid, wire.JobSpec{}},
		{"another length", "a chain of 1 jobs, not of 3", wire.Invalid, wire.JobSpec{Program: count("--output", "dfs:/o"), Stages: 3}},
	} {
		if tt.spec.Name == "" {
			tt.spec.Name = "bad"
		}
		if tt.spec.Output == "" {
			tt.spec.Output = "dfs:/o"
		}
		tt.spec.Stages = max(tt.spec.Stages, 1)
		begin := time.Now()
		got, err := api.JobSubmit.Call(context.Background(), c.Client, c.Addr, tt.spec)
		took := time.Since(begin)
		t.Logf("%s: %s: %.160v", tt.name, took, err)
		// It should take 100 ms at most, and does (the log says); a machine that is busy with other tests gets more.
		if err == nil || wire.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) || took > 20*time.Second {
			t.Errorf("%s: %s after %s: %.300v, want %q", tt.name, got.Job, took, err, tt.want)
		}
	}
	list, err := api.JobList.Call(context.Background(), c.Client, c.Addr, wire.JobsRequest{})
	if err != nil || len(list) != 0 {
		t.Errorf("there are jobs: %+v, %v", list, err)
	}
	// A submission that is repeated, as by a client whose answer was lost, is the same job, although its output is there.
	spec := wire.JobSpec{Name: "good", Stages: 1, Program: count("--output", "dfs:/once"), Output: "dfs:/once", Request: "r1"}
	var ids [2]wire.JobID
	for i := range ids {
		got, err := api.JobSubmit.Call(context.Background(), c.Client, c.Addr, spec)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = got.Job
		if s := c.Finish(got.Job); s.State != "SUCCEEDED" {
			t.Errorf("a good job: %+v", s)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("one request has become %s and %s", ids[0], ids[1])
	}
	if s := c.Finish(c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/good")); s.State != "SUCCEEDED" {
		t.Errorf("a good job afterwards: %+v", s)
	}
}

// elf is the beginning of a program for a machine.
func elf(machine uint16) []byte {
	b := make([]byte, 4096)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[16:], 2)
	binary.LittleEndian.PutUint16(b[18:], machine)
	return b
}

func hashOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
