package dfstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/dfs"
)

// Noise returns n incompressible bytes that depend only on the seed.
func Noise(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(b) // never fails
	return b
}

// Put writes a file in pieces that do not match the chunks. If that fails, it aborts the file.
func Put(c *dfs.Client, path string, data []byte, o dfs.CreateOptions) error {
	w, err := c.Create(context.Background(), path, o)
	if err != nil {
		return err
	}
	for len(data) > 0 && err == nil {
		n := min(len(data), 100_000)
		_, err = w.Write(data[:n])
		data = data[n:]
	}
	return errors.Join(err, w.Close())
}

// Get reads a file.
func Get(c *dfs.Client, path string) ([]byte, error) {
	f, err := c.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WantFile reads a file and compares it with want.
func WantFile(t testing.TB, c *dfs.Client, path string, want []byte) {
	t.Helper()
	got, err := Get(c, path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d of %d bytes, equal: %v, %v", path, len(got), len(want), bytes.Equal(got, want), err)
	}
}
