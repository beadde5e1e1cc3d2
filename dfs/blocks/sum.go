package blocks

import (
	"context"
	"slices"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
)

// Sum returns the checksum of a finished replica's data as it was written. It combines the checksums of the
// chunks, so it reads nothing but their table.
func (s *Store) Sum(b wire.Block) (uint32, error) {
	r, err := s.Open(b.ID, b.Gen)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	if r.Block != b || r.crcs != nil {
		return 0, wire.Errorf(wire.Stale, "%s is on node %s with %d bytes, not finished with %d", b.ID, s.cfg.Node, r.Block.Len, b.Len)
	}
	tail := make([]byte, 4*pipe.Chunks(b.Len)+footerSize)
	if err := readAt(r.file, tail, headerSize+b.Len); err != nil {
		return 0, err
	}
	table := tail[:len(tail)-footerSize]
	got, crc, err := decodeFooter(tail[len(table):])
	if err != nil {
		return 0, err
	}
	if got != b || pipe.Checksum(table) != crc {
		return 0, wire.Errorf(wire.Corrupt, "%s on node %s: its table of checksums is damaged", b.ID, s.cfg.Node)
	}
	return pipe.CombineChunks(decodeTable(table), b.Len), nil
}

// sumFile returns the checksum of a file whose writer died, up to what was saved of its last block, or false if some
// block gave no answer.
func (s *Service) sumFile(ctx context.Context, w wire.RecoverWork, last wire.Block, stored []wire.NodeName) (uint32, bool) {
	list := w.Before
	if last.Len > 0 {
		places := slices.DeleteFunc(slices.Clone(w.Places), func(p wire.Place) bool { return !slices.Contains(stored, p.Node) })
		list = append(slices.Clip(list), wire.LocatedBlock{Block: last, Places: places, Token: w.Token})
	}
	var all uint32
	for _, b := range list {
		crc, ok := s.sumBlock(ctx, b)
		if !ok {
			return 0, false
		}
		all = pipe.Combine(all, crc, b.Len)
	}
	return all, true
}

func (s *Service) sumBlock(ctx context.Context, b wire.LocatedBlock) (uint32, bool) {
	for _, p := range b.Places {
		if p.Node == s.cfg.Node {
			if crc, err := s.store.Sum(b.Block); err == nil {
				return crc, true
			}
			continue
		}
		if r, err := api.BlockSum.Call(ctx, s.cfg.Client, p.Addr, wire.BlockRequest{Block: b.Block, Token: b.Token}); err == nil {
			return r.CRC, true
		}
	}
	return 0, false
}
