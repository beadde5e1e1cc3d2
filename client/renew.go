package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
)

// Renew gets a new certificate for the client's user and replaces the one in a file. At every moment the file has
// all of the old one or all of the new one.
func (c *Client) Renew(ctx context.Context, file string) error {
	r, err := secure.NewRenewal()
	if err != nil {
		return err
	}
	got, err := call(ctx, c, api.CertRenew, r.Request())
	if err != nil {
		return err
	}
	text, err := r.PEM(&got)
	if err != nil {
		return err
	}
	if err := replaceFile(file, text); err != nil {
		return fmt.Errorf("certificate %s: %w", file, err)
	}
	return nil
}

// replaceFile writes a file that only its owner may read.
func replaceFile(name string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".cert-*") // its mode keeps out everybody else
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
