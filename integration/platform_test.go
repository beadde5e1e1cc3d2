package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestHashesOfOthers: ann submits a program for another machine under the hash of bob's. Bob's job is taken all the same.
func TestHashesOfOthers(t *testing.T) {
	t.Parallel()
	k := newKey(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: k})
	ann, bob := newPerson(t, c, secure.User, "ann"), newPerson(t, c, secure.User, "bob")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	head := string(self[:4096]) // of a program for this machine
	sum := sha256.Sum256([]byte(head))
	ann.put(t, "/user/ann/exe", "MZ"+strings.Repeat("x", 100))
	bob.put(t, "/user/bob/exe", head)
	submit := func(p person, user string) error {
		_, err := api.JobSubmit.Call(t.Context(), p.Client, c.Addr, wire.JobSpec{
			Name: "x", User: user, Stages: 1, Program: wire.Program{Exe: "/user/" + user + "/exe", Hash: hex.EncodeToString(sum[:])},
		})
		return err
	}
	if err := submit(ann, "ann"); err == nil || !strings.Contains(err.Error(), "windows") {
		t.Errorf("a program for another machine: %v", err)
	}
	if err := submit(bob, "bob"); err != nil {
		t.Errorf("bob's: %v", err)
	}
}

// TestShippedFilesOfOthers: a worker has a side file of bob's. Ann, who knows its hash, does not get it under a name of hers.
func TestShippedFilesOfOthers(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: newKey(t)})
	const secret = "only for bob\n"
	sum := sha256.Sum256([]byte(secret))
	run := func(user, side string) wire.JobStatus {
		p := newPerson(t, c, secure.User, user)
		home := "/user/" + user
		p.put(t, home+"/in", "a b\n")
		p.put(t, home+"/side", side)
		got, err := api.JobSubmit.Call(t.Context(), p.Client, c.Addr, wire.JobSpec{Name: "x", User: user, Stages: 1, Program: wire.Program{
			Builtin: "wordcount", Args: []string{"--input", "dfs:" + home + "/in", "--output", "dfs:" + home + "/out"},
			Files: []wire.Side{{Name: "side", Path: home + "/side", Hash: hex.EncodeToString(sum[:])}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Finish(got.Job)
	}
	if s := run("bob", secret); s.State != "SUCCEEDED" {
		t.Fatalf("bob's: %+v", s)
	}
	if s := run("ann", "nothing"); s.State != "FAILED" || !strings.Contains(s.Error, "has the hash") {
		t.Errorf("ann's: %s, %s", s.State, s.Error)
	}
}
