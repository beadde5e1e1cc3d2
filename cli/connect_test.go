package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
)

// aged is a certificate of ann that was made so long ago.
func aged(t *testing.T, key *secure.Key, ago time.Duration) (cert []byte) {
	t.Helper()
	then := time.Now().Add(-ago)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(then))
		var err error
		if cert, err = key.PEM(secure.User, "ann", ""); err != nil {
			t.Fatal(err)
		}
	})
	return cert
}

// TestCommandsRenewCertificates: whichever command ann runs, her certificate is replaced when half of its life is over, and not before.
func TestCommandsRenewCertificates(t *testing.T) {
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: key})
	for _, command := range [][]string{{"job", "ls"}, {"dfs", "ls", "/"}, {"dfs", "du", "/"}} {
		for days, want := range map[time.Duration]bool{100: false, 200: true} {
			cert, file := aged(t, key, days*24*time.Hour), filepath.Join(t.TempDir(), "ann.pem")
			if err := os.WriteFile(file, cert, 0o600); err != nil {
				t.Fatal(err)
			}
			root := newRoot()
			root.SetOut(io.Discard)
			root.SetArgs(append(command, "--master", c.Addr, "--cert", file))
			if err := root.Execute(); err != nil {
				t.Fatalf("%v: %v", command, err)
			}
			left, err := os.ReadFile(file)
			if renewed := !bytes.Equal(left, cert); err != nil || renewed != want {
				t.Errorf("%v, with a certificate of %d days: renewed is %v, %v", command, days, renewed, err)
			}
		}
	}
}
