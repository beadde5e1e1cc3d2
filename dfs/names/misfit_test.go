package names

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// misfits has a directory (2) with a file (3), a file being written (4) with an open block, a directory (5) in the first, a file (6) that is to replace 3, a
// file being written (7) whose last block is finished, and a snapshot (8) of 2.
func misfits(t *testing.T) *rig {
	r := newRig(t)
	r.open()
	for _, n := range []wire.NodeName{"n0", "n1", "n2"} {
		r.addNode(n, "r", 1<<40)
	}
	mkdir := func(path string) {
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: path})
		must(t, err)
	}
	create := func(path string, over bool) wire.FileID {
		f, err := r.s.Create(wire.CreateRequest{Path: path, Holder: "h", Overwrite: over, BlockSize: 1000})
		must(t, err)
		return f.File.ID
	}
	add := func(id wire.FileID, previous *wire.Block, stored []wire.NodeName) (wire.Block, []wire.NodeName) {
		p, err := r.s.AddBlock(wire.AddBlockRequest{File: id, Holder: "h", Previous: previous, Stored: stored})
		must(t, err)
		return r.write(p, 1000)
	}
	mkdir("/d")
	must(t, r.put(wire.CreateRequest{Path: "/d/f"}, 1, ""))
	add(create("/open", false), nil, nil)
	mkdir("/d/sub")
	create("/d/f", true)
	half := create("/half", false)
	b, stored := add(half, nil, nil)
	add(half, &b, stored)
	_, err := do(r.s, func() (none, error) { return none{}, r.s.commit(edit{op: opDrop, id: half}) })
	must(t, err)
	must(t, r.snapshot("", "/d", "s", false))
	return r
}

// TestEditsThatDoNotFit: a record that does not fit what is there is an error, and changes nothing. So a damaged journal is refused, not believed.
func TestEditsThatDoNotFit(t *testing.T) {
	r := misfits(t)
	s := r.s
	open := s.inodes[4].file.last().Block
	finished := s.inodes[7].file.last().Block
	top := s.inodes[2].dir.snaps["s"].id
	before := s.dump()
	fits := func(e edit) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.apply(s.applied, &e) == nil
	}
	for what, e := range map[string]edit{
		"a file in nothing":                   {op: opPut, id: 100, parent: 99, name: "x"},
		"a file in a file":                    {op: opPut, id: 100, parent: 3, name: "x"},
		"a file that is there":                {op: opPut, id: 4, parent: 1, name: "x"},
		"a name that is there":                {op: opPut, id: 100, parent: 1, name: "d"},
		"no name":                             {op: opPut, id: 100, parent: 1},
		"a shadow without a name":             {op: opPut, id: 100, parent: 1, shadow: true},
		"a quota of nothing":                  {op: opQuota, id: 99},
		"a quota of a file":                   {op: opQuota, id: 3},
		"a snapshot of nothing":               {op: opSnapshot, id: 99, name: "x"},
		"a snapshot of a file":                {op: opSnapshot, id: 3, name: "x"},
		"a snapshot that is there":            {op: opSnapshot, id: 2, name: "s"},
		"a snapshot without a name":           {op: opSnapshot, id: 2},
		"a snapshot of a snapshot":            {op: opSnapshot, id: top, name: "x"},
		"nothing moves":                       {op: opMove, id: 99, parent: 1, name: "x"},
		"the root moves":                      {op: opMove, id: 1, parent: 2, name: "x"},
		"moved to nothing":                    {op: opMove, id: 3, parent: 99, name: "x"},
		"moved into a file":                   {op: opMove, id: 3, parent: 4, name: "x"},
		"moved into itself":                   {op: opMove, id: 2, parent: 5, name: "x"},
		"moved over another":                  {op: opMove, id: 3, parent: 1, name: "open"},
		"moved to no name":                    {op: opMove, id: 3, parent: 1},
		"nothing goes":                        {op: opRemove, id: 99},
		"the root goes":                       {op: opRemove, id: 1},
		"rights of nothing":                   {op: opRights, id: 99},
		"replicas of a directory":             {op: opReplica, id: 2},
		"a block of a directory":              {op: opBlock, id: 2, block: wire.Block{ID: 50, Gen: 9}},
		"a block of a closed file":            {op: opBlock, id: 3, index: 1, block: wire.Block{ID: 50, Gen: 9}},
		"a block behind an open one":          {op: opBlock, id: 4, index: 1, block: wire.Block{ID: 50, Gen: 9}},
		"a block that is another's":           {op: opBlock, id: 6, block: wire.Block{ID: open.ID, Gen: 9}},
		"a block far behind the last":         {op: opBlock, id: 4, index: 5, block: open},
		"a block before the first":            {op: opBlock, id: 6, index: -1, block: wire.Block{ID: 50, Gen: 9}},
		"another than the open block":         {op: opBlock, id: 4, block: wire.Block{ID: 50, Gen: 9}},
		"a finished block changes":            {op: opBlock, id: 7, block: finished},
		"no block is dropped":                 {op: opDrop, id: 6},
		"a finished block is dropped":         {op: opDrop, id: 7},
		"a closed file is held":               {op: opHold, id: 3},
		"closed with an open block":           {op: opClose, id: 4},
		"closed although the name is taken":   {op: opClose, id: 6},
		"closed twice":                        {op: opClose, id: 3},
		"a change that nobody knows of files": {op: numOps, id: 2},
	} {
		if fits(e) {
			t.Errorf("%s: done", what)
		}
	}
	if after := s.dump(); after != before {
		t.Errorf("changed from\n%s\nto\n%s", before, after)
	}
	s.audit(t)
}
