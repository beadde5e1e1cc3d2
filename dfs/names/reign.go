package names

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// Nodes obey one master after the other. Each tells which one it obeyed last, and this one is the next only if its
// directory has been that one's. A directory that was put back from a copy, or one that went on elsewhere, has not: its
// master must not have blocks deleted that it does not know. Only somebody who knows can say that it is to rule
// (Config.TakeOver).

// reigns is what the directory knows of the masters before this one, and who obeys it.
type reigns struct {
	self wire.Reign
	past []wire.Reign // oldest first, at most maxPast
	over uint64       // reigns of epochs up to this one were taken over
	seal []byte       // signs the names of reigns

	ruled     bool   // a node obeys
	above     uint64 // the epoch of the reign to take over; 0: none
	followers map[wire.NodeName]bool
	rivals    map[wire.NodeName]wire.Reign // what nodes obey that do not obey this one
}

// maxPast is how many reigns the checkpoint keeps. Larger: nodes that were away for longer are recognized.
const maxPast = 256

// beginReign takes the next epoch.
func (s *Service) beginReign(st *state) {
	if len(st.Reigns) == 0 && st.Epoch > 0 { // a version without names
		st.Over = max(st.Over, st.Epoch)
	}
	st.Over = max(st.Over, s.cfg.Over)
	st.Epoch = max(st.Epoch+1, s.cfg.Epoch, st.Over+1)
	if len(st.Seal) == 0 {
		st.Seal = s.cfg.Secret()
	}
	s.seal = st.Seal
	drawn := rand.Text()
	s.self = wire.Reign{Epoch: st.Epoch, Name: drawn + s.sign(st.Epoch, drawn)}
	s.past, s.over = st.Reigns, st.Over
	st.Reigns = s.line()
}

// sign returns what stands behind the drawn part of a reign's name.
func (r *reigns) sign(epoch uint64, drawn string) string {
	mac := hmac.New(sha256.New, r.seal)
	fmt.Fprintf(mac, "%d %s", epoch, drawn)
	return base32.StdEncoding.EncodeToString(mac.Sum(nil)[:15])
}

// proven reports whether a reign was begun on this directory or on a copy of it. Anybody can say that a node has obeyed
// a later master, and this one must not end for that.
func (r *reigns) proven(seen wire.Reign) bool {
	const drawn = 26 // of rand.Text
	return len(seen.Name) > drawn && hmac.Equal([]byte(seen.Name[drawn:]), []byte(r.sign(seen.Epoch, seen.Name[:drawn])))
}

// maxEpoch is the highest epoch that somebody takes over from. A directory does not begin so often.
const maxEpoch = 1 << 48

// line returns the reigns of the directory, this one too.
func (r *reigns) line() []wire.Reign {
	all := append(slices.Clone(r.past), r.self)
	return all[max(0, len(all)-maxPast):]
}

// follows reports whether this reign comes after one that a node has obeyed, or is it.
func (r *reigns) follows(seen wire.Reign) bool {
	switch {
	case seen == wire.Reign{}, seen == r.self, seen.Epoch <= r.over:
		return true
	case seen.Name == "":
		return seen.Epoch <= r.self.Epoch
	case len(r.past) >= maxPast-1 && seen.Epoch < r.past[0].Epoch:
		return true // so long ago that its name is forgotten
	}
	return slices.Contains(r.past, seen)
}

// outranked returns the error for a node that has obeyed a master which this one does not follow.
func (r *reigns) outranked(kind wire.Kind, node wire.NodeName, seen wire.Reign) error {
	return wire.Errorf(kind, "node %s has obeyed a master of epoch %d (%.8s), whose work the directory of this master (epoch %d, %.8s) does not have. "+
		"If that master runs, end this one. If it is gone for good and this directory, say a backup, is to rule: millrace master --take-over (files made since then are lost)",
		node, seen.Epoch, cmp.Or(seen.Name, "no name"), r.self.Epoch, r.self.Name)
}

// Meet judges a node by the last reign that it obeyed. An error says why the node must not obey this service. If the
// node's reign is a later one of this directory, or of a copy, and others obey this service, it ends: it acknowledges
// nothing more.
func (s *Service) Meet(node wire.NodeName, seen wire.Reign) error {
	s.mu.RLock()
	known := s.fenced == nil && s.follows(seen) && s.followers[node] && len(s.rivals) == 0
	s.mu.RUnlock()
	if known {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meet(node, seen)
}

// meet is Meet under the lock.
func (s *Service) meet(node wire.NodeName, seen wire.Reign) error {
	if s.fenced != nil {
		return s.fenced
	}
	mine := slices.Contains(s.past, seen) || seen == s.self
	if s.follows(seen) && (s.ruled || mine || len(s.rivals) == 0) {
		s.ruled, s.followers[node] = true, true
		delete(s.rivals, node)
		return nil
	}
	if s.follows(seen) {
		return s.notInCharge()
	}
	err := s.outranked(wire.Stale, node, seen)
	takeOver := s.cfg.TakeOver && !s.followers[node] && seen.Epoch < maxEpoch
	if !takeOver && !s.proven(seen) {
		return wire.Errorf(wire.Stale, "node %s belongs to another cluster: it has obeyed a master of epoch %d (%.8s), and the directory of this master (epoch %d, %.8s) is neither that one's nor a copy of it. "+
			"Give it its own master's address, or an empty directory", node, seen.Epoch, cmp.Or(seen.Name, "no name"), s.self.Epoch, s.self.Name)
	}
	if takeOver || s.ruled && seen.Epoch >= s.self.Epoch {
		if takeOver {
			s.above = seen.Epoch
		}
		s.fence.ended.Store(&err)
		s.fenced = err
		return err
	}
	if s.rivals[node] != seen {
		s.rivals[node] = seen
		s.cfg.Told(err)
	}
	return err
}

// notInCharge returns why no node obeys this master, or nil. The lock must be held.
func (s *Service) notInCharge() error {
	if s.ruled || len(s.rivals) == 0 {
		return nil
	}
	node := slices.Min(slices.Collect(maps.Keys(s.rivals)))
	return s.outranked(wire.Unavailable, node, s.rivals[node])
}

// deserted returns an error when nodes obeyed this service and none has been heard of for a while: they may obey
// another master by now, which would never know what this one acknowledges.
func (s *Service) deserted() error {
	last := s.heard.Load()
	if silent := s.cfg.Now() - time.Duration(last); last != 0 && silent > s.cfg.DeadAfter/2 {
		return wire.Errorf(wire.Unavailable, "no worker has been heard of for %s: nothing is changed until one is", silent.Round(time.Second))
	}
	return nil
}

// hear notes a sign of life of a node.
func (s *Service) hear() { s.heard.Store(max(1, int64(s.cfg.Now()))) }

// InCharge returns why nodes do not obey this service, or nil.
func (s *Service) InCharge() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return cmp.Or(s.fenced, s.notInCharge())
}

// MayChange returns why nothing must be acknowledged now, or nil. Other journals of the same owner ask, too.
func (s *Service) MayChange() error { return cmp.Or(s.InCharge(), s.deserted()) }

// Above returns the epoch that somebody who takes over must be above, once this service has ended for that reason.
func (s *Service) Above() (epoch uint64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.above, s.above > 0
}

// Reign names this start of the service.
func (s *Service) Reign() wire.Reign { return s.self }

// Rivals returns the nodes that do not obey this service, and what they obey.
func (s *Service) Rivals() map[wire.NodeName]wire.Reign {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.rivals)
}
