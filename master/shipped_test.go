package master_test

import (
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestProgramForOthers: an executable that no worker can run is refused when it comes, and not by each of its attempts; what says nothing
// about itself is taken.
func TestProgramForOthers(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	submit := func(path, text string) error {
		t.Helper()
		c.Put(path, text)
		sum := sha256.Sum256([]byte(text))
		_, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, wire.JobSpec{
			Name: "shipped", Stages: 1, Output: "dfs:/out", Program: wire.Program{Exe: path, Hash: hex.EncodeToString(sum[:])},
		})
		return err
	}
	const vax = "\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x4b\x00"
	for range 2 { // from the store, and from memory
		err := submit("/vax", vax+"program")
		if wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), "is for linux/machine 75") || !strings.Contains(err.Error(), runtime.GOOS+"/"+runtime.GOARCH) {
			t.Errorf("a program for another machine: %v", err)
		}
		if _, err := api.DFSDelete.Call(t.Context(), c.Client, c.Addr, wire.DeleteRequest{Path: "/vax", User: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := submit("/script", "#!/bin/sh\n"); err != nil {
		t.Errorf("a script: %v", err)
	}
}
