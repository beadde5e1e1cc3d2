package web

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// filesData is the page of a directory or a file of the block store.
type filesData struct {
	Path    string
	Above   []step // the directories above, from the root
	Info    wire.FileInfo
	Usage   wire.Usage
	Entries []entry
	After   string // where the next page of a directory begins
	Nodes   []wire.NodeName
	Blocks  []blockRow
	More    bool // the file has more blocks than are shown
	Problem string
}

// A step is one directory of a path.
type step struct{ Name, Path string }

type entry struct {
	wire.FileInfo
	Name string
}

// A blockRow is a block, with whether each node of the page has it.
type blockRow struct {
	wire.LocatedBlock
	Has []bool
}

// How many entries of a directory and blocks of a file a page shows.
const (
	shownEntries = 500
	shownBlocks  = 200
)

func (s *site) files(ctx context.Context, r *http.Request) (view, error) {
	p := path.Clean("/" + r.PathValue("path"))
	d := &filesData{Path: p, Above: stepsOf(p)}
	var err error
	if d.Info, err = ask(ctx, s, api.DFSStat, wire.PathRequest{Path: p}); err != nil {
		return view{}, err
	}
	if d.Info.Dir {
		err = s.directory(ctx, d, r.URL.Query().Get("after"))
	} else {
		err = s.file(ctx, d)
	}
	return view{Page: "files", Title: p, Data: d}, err
}

func stepsOf(p string) []step {
	out := []step{{"/", "/"}}
	for i, c := range p {
		if c == '/' && i > 0 {
			out = append(out, step{path.Base(p[:i]), p[:i]})
		}
	}
	if p != "/" {
		out = append(out, step{path.Base(p), p})
	}
	return out
}

func (s *site) directory(ctx context.Context, d *filesData, after string) error {
	list, err := ask(ctx, s, api.DFSList, wire.ListRequest{Path: d.Path, After: after, Limit: shownEntries})
	if err != nil {
		return err
	}
	for _, f := range list.Entries {
		d.Entries = append(d.Entries, entry{f, path.Base(f.Path)})
	}
	if n := len(d.Entries); list.More && n > 0 {
		d.After = d.Entries[n-1].Name
	}
	d.Usage, err = ask(ctx, s, api.DFSUsage, wire.QuotaRequest{Path: d.Path})
	return err
}

func (s *site) file(ctx context.Context, d *filesData) error {
	l, err := ask(ctx, s, api.DFSLocate, wire.LocateRequest{Path: d.Path, Len: -1, Count: shownBlocks})
	if err != nil {
		if wire.KindOf(err) == wire.Unavailable { // safe mode: the file exists, but its blocks are not yet known
			d.Problem = err.Error()
			return nil
		}
		return err
	}
	for _, b := range l.Blocks {
		for _, p := range b.Places {
			if !slices.Contains(d.Nodes, p.Node) {
				d.Nodes = append(d.Nodes, p.Node)
			}
		}
	}
	slices.SortFunc(d.Nodes, func(a, b wire.NodeName) int { return strings.Compare(string(a), string(b)) })
	for _, b := range l.Blocks {
		row := blockRow{b, make([]bool, len(d.Nodes))}
		for _, p := range b.Places {
			row.Has[slices.Index(d.Nodes, p.Node)] = true
		}
		d.Blocks = append(d.Blocks, row)
	}
	d.More = d.Info.Blocks > len(d.Blocks)
	return nil
}
