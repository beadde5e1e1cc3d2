package client

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// shipDir is where a user's executables and side files are in the block store, by hash. They are in the user's home,
// so that nobody else can put something under the hash of a program first.
func (c *Client) shipDir() string { return "/user/" + c.cfg.User + "/.millrace/shipped" }

// A parcel is a local file to be shipped, as it was when it was measured.
type parcel struct {
	f    *os.File
	size int64
	crc  uint32
	hash string
}

// Ship puts a local file into the block store under its hash, unless all of it is there already. It writes under
// another name and renames the complete file, so that nobody sees a part of it, even if several clients ship it or
// die meanwhile.
func (c *Client) Ship(ctx context.Context, name string) (path, hash string, err error) {
	p, err := measure(name)
	if err != nil {
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	defer p.f.Close()
	path = c.shipDir() + "/" + p.hash
	if c.arrived(ctx, path, p) {
		return path, p.hash, nil
	}
	if err := c.deliver(ctx, path, p); err != nil {
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	c.sweepParts(ctx, path, abandonedAfter)
	return path, p.hash, nil
}

// apartMark is between the hash of an incomplete file and the letters that distinguish its writers.
const apartMark = ".new-"

// abandonedAfter is how much older than a file just shipped an incomplete one is whose writer counts as dead.
const abandonedAfter = 10 * time.Minute

// sweepParts removes what clients left that died while shipping: files that nobody writes and that never got their
// final name. The next client removes what cannot be removed now.
func (c *Client) sweepParts(ctx context.Context, shipped string, age time.Duration) {
	now, err := c.dfs.Stat(ctx, shipped)
	if err != nil {
		return
	}
	list, _ := c.dfs.ListAll(ctx, c.shipDir()) // as much as can be read
	for _, f := range list {
		if strings.Contains(f.Path, apartMark) && !f.Open && now.ModTime-f.ModTime >= age.Milliseconds() {
			_ = c.dfs.Remove(ctx, f.Path, false)
		}
	}
}

func measure(name string) (p *parcel, err error) {
	p = &parcel{}
	if p.f, err = os.Open(name); err != nil {
		return nil, err
	}
	sha, crc := sha256.New(), codec.NewSum()
	if p.size, err = io.Copy(io.MultiWriter(sha, crc), p.f); err != nil {
		return nil, errors.Join(err, p.f.Close())
	}
	p.hash, p.crc = hex.EncodeToString(sha.Sum(nil)), crc.Sum32()
	return p, nil
}

// arrived reports whether the complete file is in the block store.
func (c *Client) arrived(ctx context.Context, path string, p *parcel) bool {
	info, err := c.dfs.Stat(ctx, path)
	return err == nil && !info.Open && info.Len == p.size && info.HasCRC && info.CRC == p.crc
}

// deliver writes the file under another name and renames it. It removes an incomplete file of the final name first:
// its writer has died, or was an earlier millrace that wrote in place.
func (c *Client) deliver(ctx context.Context, path string, p *parcel) error {
	apart := path + apartMark + rand.Text()
	if err := c.upload(ctx, apart, p); err != nil {
		return err
	}
	err := c.dfs.Rename(ctx, apart, path, false)
	if wire.KindOf(err) == wire.Exists && !c.arrived(ctx, path, p) {
		if err = c.dfs.Remove(ctx, path, false); err == nil || wire.KindOf(err) == wire.NotFound {
			err = c.dfs.Rename(ctx, apart, path, false)
		}
	}
	if err == nil {
		return nil
	}
	_ = c.dfs.Remove(ctx, apart, false) // another client's is there, or the error says more
	if wire.KindOf(err) == wire.Exists && c.arrived(ctx, path, p) {
		return nil
	}
	return err
}

func (c *Client) upload(ctx context.Context, to string, p *parcel) error {
	if _, err := p.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w, err := c.dfs.Create(ctx, to, dfs.CreateOptions{})
	if err != nil {
		return err
	}
	crc := codec.NewSum()
	n, err := io.Copy(io.MultiWriter(w, crc), p.f)
	if err == nil && (n != p.size || crc.Sum32() != p.crc) {
		err = errors.New("it changed while it was read")
	}
	if err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}
