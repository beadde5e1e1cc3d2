package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/millrace/millrace/internal/secure"
)

// TestCertificateIsForNobodyElse: a certificate goes into a file that the shell has made readable by all, as > does: it is its owner's alone, whole.
func TestCertificateIsForNobodyElse(t *testing.T) {
	dir := t.TempDir()
	key, pem := filepath.Join(dir, "cluster.key"), filepath.Join(dir, "ann.pem")
	if err := os.WriteFile(key, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(pem, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	cmd := newCert()
	cmd.SetOut(f)
	cmd.SetArgs([]string{"ann", "--key", key})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", st.Mode(), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(pem)
	if err == nil {
		_, err = secure.FromPEM(text)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestCertificateNeedsAName: nobody gets a certificate that cannot be revoked.
func TestCertificateNeedsAName(t *testing.T) {
	key := filepath.Join(t.TempDir(), "cluster.key")
	if err := os.WriteFile(key, []byte(secure.Generate()), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{"ann": true, "a b": false, "../x": false, "n\nm": false, "*": false} {
		for _, more := range [][]string{nil, {"--admin"}} {
			var out bytes.Buffer
			cmd := newCert()
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetOut(&out)
			cmd.SetArgs(append([]string{name, "--key", key}, more...))
			if err := cmd.Execute(); (err == nil) != good || (out.Len() > 0) != good {
				t.Errorf("%q %v: %v, %d bytes", name, more, err, out.Len())
			}
		}
	}
}
