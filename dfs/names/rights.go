package names

import (
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// The rights to a file or directory, as in one digit of its mode. For a directory, execute means passing through it,
// write changing its entries, and read listing them.
const (
	execute uint16 = 1 << iota
	write
	read
)

// sticky is the mode bit of a directory that lets only owners take entries away.
const sticky uint16 = 0o1000

// allModes are the bits that a mode may have.
const allModes uint16 = 0o1777

// An actor is the user on whose behalf something is done.
type actor struct {
	user   string
	groups []string
	super  bool // may do everything
}

// actor returns what is known about a user. super is set if the server knows that the caller may do everything.
// A request without a user comes from the service itself or from a node.
func (s *Service) actor(user string, super bool) *actor {
	a := &actor{user: user, super: super || user == "" || user == s.cfg.Superuser}
	if s.cfg.Groups != nil && !a.super {
		a.groups = s.cfg.Groups(user)
		a.super = slices.Contains(a.groups, s.cfg.Supergroup)
	}
	return a
}

// Superuser reports whether a user may do everything by name.
func (s *Service) Superuser(user string) bool { return s.actor(user, false).super }

// may reports whether the mode of i gives a the rights in want. The first digit decides for the owner, the
// second for members of the group, the last for all others.
func (t *tree) may(a *actor, i *inode, want uint16) bool {
	m := i.mode
	switch {
	case a.super:
		return true
	case i.owner.name == a.user:
		m >>= 6
	case slices.Contains(a.groups, t.groups[i.group]):
		m >>= 3
	}
	return m&want == want
}

// must returns an error unless a has the rights in want.
func (t *tree) must(a *actor, i *inode, want uint16) error {
	if t.may(a, i, want) {
		return nil
	}
	return t.denied(a, i, map[uint16]string{
		execute: "pass through", write: "write", write | execute: "add to or take from", read: "read", read | execute: "list",
		read | write | execute: "remove what is in",
	}[want])
}

func (t *tree) denied(a *actor, i *inode, what string) error {
	return wire.Errorf(wire.Denied, "user %s may not %s %s (%s %s %s)", a.user, what, i.path(), wire.ModeText(i.dir != nil, i.mode), i.owner.name, t.groups[i.group])
}

// mustTake returns an error unless a may take i out of its directory or put another in its place.
func (t *tree) mustTake(a *actor, i *inode) error {
	if err := t.must(a, i.parent, write|execute); err != nil {
		return err
	}
	if !t.mayTake(a, i) {
		return t.denied(a, i, "take away")
	}
	return nil
}

// mayTake reports whether the sticky bit of i's directory lets a take i away.
func (t *tree) mayTake(a *actor, i *inode) bool {
	return a.super || i.parent.mode&sticky == 0 || i.owner.name == a.user || i.parent.owner.name == a.user
}

// mustRemove returns an error unless a may remove i and all below it. Every directory on the way that is not
// empty must let a list and change it. Files need no rights of their own.
func (t *tree) mustRemove(a *actor, i *inode) error {
	if err := t.mustTake(a, i); err != nil || a.super {
		return err
	}
	return t.mustEmpty(a, i)
}

func (t *tree) mustEmpty(a *actor, i *inode) error {
	if i.dir == nil || i.dir.kids.n == 0 {
		return nil
	}
	if err := t.must(a, i, read|write|execute); err != nil {
		return err
	}
	for k := range i.dir.kids.all() {
		if !t.mayTake(a, k) {
			return t.denied(a, k, "take away")
		}
		if err := t.mustEmpty(a, k); err != nil {
			return err
		}
	}
	return nil
}

// Access returns an error unless a user may read a file, or list a directory. With toWrite it checks instead
// whether the user may put something at the path.
func (s *Service) Access(path, user string, toWrite bool) error {
	_, err := look(s, func(v *view) (none struct{}, err error) {
		a := s.actor(user, false)
		if toWrite {
			c, err := s.claim(a, path, true)
			if err == nil && c.there != s.root {
				err = s.mayAdd(a, c)
			}
			return none, err
		}
		i, err := s.walk(v, a, path)
		switch {
		case err != nil:
			return none, err
		case i.dir != nil:
			return none, s.must(a, i, read|execute)
		}
		return none, s.must(a, i, read)
	})
	return err
}

// group returns the number of a group, which is shorter than its name.
func (t *tree) group(name string) uint32 {
	n, ok := t.groupIDs[name]
	if !ok {
		n = uint32(len(t.groups))
		t.groups = append(t.groups, name)
		t.groupIDs[name] = n
	}
	return n
}
