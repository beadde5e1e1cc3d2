package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestCertificateIsRenewed: ann gets a new certificate with her old one, into the file of the old one and for her alone; with it
// she works. Where the file cannot be replaced the old one stays.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: key})
	old, err := key.PEM(secure.User, "ann", "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ann.pem")
	if err := os.WriteFile(file, old, 0o644); err != nil {
		t.Fatal(err)
	}
	connect := func(cert []byte) *client.Client {
		cl, err := client.New(client.Config{Master: c.Addr, Cert: cert})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cl.Close() })
		return cl
	}
	if err := connect(old).Renew(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	renewed, err := os.ReadFile(file)
	if err != nil || string(renewed) == string(old) {
		t.Fatalf("the file has not changed: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if _, err := connect(renewed).DFS().Stat(t.Context(), "/"); err != nil {
		t.Errorf("with the new one: %v", err)
	}
	if err := connect(renewed).Renew(t.Context(), filepath.Join(dir, "none", "ann.pem")); err == nil {
		t.Error("renewed into a directory that is not there")
	}
	if err := os.MkdirAll(filepath.Join(dir, "bob.pem", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := connect(renewed).Renew(t.Context(), filepath.Join(dir, "bob.pem")); err == nil {
		t.Error("renewed into the place of a directory")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
	task, err := key.PEM(secure.Task, "job-1", "ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := connect(task).Renew(t.Context(), file); wire.KindOf(err) != wire.Denied {
		t.Errorf("a task's: %v", err)
	}
}
