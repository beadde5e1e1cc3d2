package client

import (
	"context"
	"errors"
)

// SweepParts is what Ship does after it has shipped a file, for tests that do not wait for parts to be old.
var SweepParts = (*Client).sweepParts

// ShipLate ships a file that is changed after it was measured.
func ShipLate(c *Client, ctx context.Context, name, to string, change func() error) error {
	p, err := measure(name)
	if err != nil {
		return err
	}
	defer p.f.Close()
	return errors.Join(change(), c.upload(ctx, to, p))
}
