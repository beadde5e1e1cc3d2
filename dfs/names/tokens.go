package names

import (
	"sync"
	"time"

	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A mint makes block tokens. It always has a key that signs and the next one, so that nodes know a key long
// before it signs.
type mint struct {
	cfg   *Config
	epoch uint64

	mu   sync.Mutex // guards the fields below
	keys []minted   // the last one comes next, the one before it signs
	made uint64     // how many keys this mint has made
}

type minted struct {
	*token.Key
	id     uint64
	secret []byte
	born   time.Duration
}

func newMint(cfg *Config, epoch uint64) *mint {
	m := &mint{cfg: cfg, epoch: epoch}
	m.add()
	m.add()
	return m
}

// add makes the next key. Epochs only grow, so its id is the highest so far.
func (m *mint) add() {
	m.made++
	k := minted{id: m.epoch<<24 | m.made&(1<<24-1), secret: m.cfg.Secret(), born: m.cfg.Now()}
	k.Key = token.NewKey(k.id, k.secret)
	m.keys = append(m.keys, k)
}

// life returns the age at which nothing that a key signed is valid: it waits, signs, and its last token ends.
func (m *mint) life() time.Duration { return 2*m.cfg.KeyEvery + m.cfg.TokenLife }

// turn replaces the signing key when its time is over, and forgets keys whose tokens have all ended.
func (m *mint) turn(now time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now-m.keys[len(m.keys)-1].born < m.cfg.KeyEvery {
		return
	}
	m.add()
	for len(m.keys) > 2 && now-m.keys[0].born > m.life() {
		m.keys = m.keys[1:]
	}
}

// tell returns the keys for a node that has those up to newest.
func (m *mint) tell(newest uint64) (list []wire.BlockKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if newest == m.keys[len(m.keys)-1].id {
		return nil
	}
	for _, k := range m.keys {
		list = append(list, wire.BlockKey{ID: k.id, Secret: k.secret, Age: m.cfg.Now() - k.born, Life: m.life()})
	}
	return list
}

// sign makes a token for the caller.
func (m *mint) sign(c rpc.Caller, b wire.Block, op token.Op) string {
	m.mu.Lock()
	k := m.keys[len(m.keys)-2]
	m.mu.Unlock()
	until := m.cfg.Now() - k.born + m.cfg.TokenLife
	return k.Sign(token.Claim{Block: b.ID, Gen: b.Gen, Op: op, Holder: token.Holder(c), Until: until})
}

// readable gives the caller tokens to read blocks.
func (m *mint) readable(c rpc.Caller, list []wire.LocatedBlock) {
	for i := range list {
		list[i].Token = m.sign(c, list[i].Block, token.Read)
	}
}

// writable gives the caller a token to write the block of a pipeline.
func (m *mint) writable(c rpc.Caller, p wire.Pipeline, err error) (wire.Pipeline, error) {
	if err == nil {
		p.Token = m.sign(c, p.Block, token.Write)
	}
	return p, err
}

// orders gives a node the tokens for the commands in the answer to a beat, and the keys that it lacks.
func (m *mint) orders(c rpc.Caller, r wire.BeatRequest, out wire.BeatResponse) wire.BeatResponse {
	out.Keys = m.tell(r.Key)
	for i := range out.Copy {
		out.Copy[i].Token = m.sign(c, out.Copy[i].Block, token.Write)
	}
	for i := range out.Recover {
		w := &out.Recover[i]
		w.Token = m.sign(c, wire.Block{ID: w.Block.ID, Gen: w.NewGen}, token.Write)
		m.readable(c, w.Before)
	}
	return out
}
