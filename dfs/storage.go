package dfs

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
)

func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// stat is a FileInfo as package fs expects it.
type stat struct{ wire.FileInfo }

func (s stat) Name() string {
	if s.Path == "/" {
		return "/"
	}
	return baseName(s.Path)
}
func (s stat) Size() int64        { return s.Len }
func (s stat) IsDir() bool        { return s.Dir }
func (s stat) Sys() any           { return s.FileInfo }
func (s stat) ModTime() time.Time { return time.UnixMilli(s.FileInfo.ModTime) }
func (s stat) Mode() fs.FileMode {
	m := fs.FileMode(s.FileInfo.Mode & 0o777)
	if s.Dir {
		m |= fs.ModeDir
	}
	if s.FileInfo.Mode&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// Storage returns the block store as jobs use it. ctx bounds everything done through it.
func (c *Client) Storage(ctx context.Context) storage.FS { return &store{c, ctx} }

type store struct {
	c   *Client
	ctx context.Context
}

var (
	_ storage.FS       = (*store)(nil)
	_ storage.Locator  = (*store)(nil)
	_ storage.Resolver = (*store)(nil)
)

func (s *store) Open(p string) (storage.File, error) { return s.c.Open(s.ctx, p) }

func (s *store) Stat(p string) (fs.FileInfo, error) {
	info, err := s.c.Stat(s.ctx, p)
	if err != nil {
		return nil, err
	}
	return stat{info}, nil
}

func (s *store) ReadDir(p string) ([]fs.DirEntry, error) {
	list, err := s.c.ListAll(s.ctx, p)
	if err != nil {
		return nil, err
	}
	out := make([]fs.DirEntry, len(list))
	for i, e := range list {
		out[i] = fs.FileInfoToDirEntry(stat{e})
	}
	return out, nil
}

func (s *store) Create(p string) (storage.Writer, error) {
	return s.c.Create(s.ctx, p, CreateOptions{NoParents: true})
}

func (s *store) MkdirAll(p string) error { return s.c.Mkdir(s.ctx, p, true) }

func (s *store) Rename(from, to string) error {
	info, err := s.c.Stat(s.ctx, from)
	if err != nil {
		return err
	}
	return s.c.Rename(s.ctx, from, to, !info.Dir)
}

// ReplaceDir makes the store a [storage.Replacer].
func (s *store) ReplaceDir(from, to string) error { return s.c.ReplaceDir(s.ctx, from, to) }

var (
	_ storage.Mover    = (*store)(nil)
	_ storage.Replacer = (*store)(nil)
)

// RenameAll moves files in few calls.
func (s *store) RenameAll(moves []storage.Move) error {
	all := make([]wire.Move, len(moves))
	for i, m := range moves {
		all[i] = wire.Move(m)
	}
	return s.c.RenameAll(s.ctx, all)
}

func (s *store) RemoveAll(p string) error {
	err := s.c.Remove(s.ctx, p, true)
	if wire.KindOf(err) == wire.NotFound {
		return nil
	}
	return err
}

// Blocks yields the blocks of a file with their nodes, fetched page by page.
func (s *store) Blocks(p string) iter.Seq2[storage.Block, error] {
	return func(yield func(storage.Block, error) bool) {
		for off := int64(0); ; {
			resp, err := s.c.Locate(s.ctx, p, off, -1)
			if err != nil {
				yield(storage.Block{}, err)
				return
			}
			for _, b := range resp.Blocks {
				out := storage.Block{Offset: b.Off, Length: b.Len}
				for _, pl := range b.Places {
					out.Hosts = append(out.Hosts, string(pl.Node))
				}
				if !yield(out, nil) {
					return
				}
				off = b.Off + b.Len
			}
			if len(resp.Blocks) == 0 {
				return
			}
		}
	}
}

func (s *store) Resolve(p string) (string, error) { return path.Clean(p), nil }

// FS returns the block store as an io/fs file system: names have no leading slash, and "." is the root.
func (c *Client) FS(ctx context.Context) fs.FS { return ioFS{c, ctx} }

type ioFS struct {
	c   *Client
	ctx context.Context
}

var (
	_ fs.StatFS    = ioFS{}
	_ fs.ReadDirFS = ioFS{}
)

func (f ioFS) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return path.Join("/", name), nil
}

func (f ioFS) Open(name string) (fs.File, error) {
	p, err := f.path("open", name)
	if err != nil {
		return nil, err
	}
	info, err := f.c.Stat(f.ctx, p)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if info.Dir {
		list, err := f.ReadDir(name)
		return &ioDir{stat{info}, name, list}, err
	}
	file, err := f.c.Open(f.ctx, p)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return ioFile{file}, nil
}

func (f ioFS) Stat(name string) (fs.FileInfo, error) {
	p, err := f.path("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := f.c.Stat(f.ctx, p)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return dirStat(info, name), nil
}

// dirStat returns info with the root named as in package fs.
func dirStat(info wire.FileInfo, name string) fs.FileInfo {
	if name == "." {
		info.Path = "/."
	}
	return stat{info}
}

func (f ioFS) ReadDir(name string) ([]fs.DirEntry, error) {
	p, err := f.path("readdir", name)
	if err != nil {
		return nil, err
	}
	list, err := (&store{f.c, f.ctx}).ReadDir(p)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return list, nil
}

type ioFile struct{ *File }

func (f ioFile) Stat() (fs.FileInfo, error) { return stat{f.info}, nil }

// ioDir is an open directory.
type ioDir struct {
	info stat
	name string
	rest []fs.DirEntry
}

func (d *ioDir) Stat() (fs.FileInfo, error) { return dirStat(d.info.FileInfo, d.name), nil }
func (d *ioDir) Close() error               { return nil }

func (d *ioDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

func (d *ioDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		out := d.rest
		d.rest = nil
		return out, nil
	}
	if len(d.rest) == 0 {
		return nil, io.EOF
	}
	out := slices.Clone(d.rest[:min(n, len(d.rest))])
	d.rest = d.rest[len(out):]
	return out, nil
}
