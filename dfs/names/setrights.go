package names

import (
	"slices"

	"github.com/millrace/millrace/internal/wire"
)

// SetRights changes owner, group and mode. The owner may change the mode, and the group to one of the owner's. Only
// a superuser may change the owner, who is charged.
func (s *Service) SetRights(r wire.SetRightsRequest) (wire.FileInfo, error) {
	return do(s, func() (none wire.FileInfo, err error) {
		a, i, err := s.toChange(r.User, r.Super, r.Path)
		if err != nil {
			return none, err
		}
		e := edit{op: opRights, id: i.id, user: i.owner.name, group: s.groups[i.group], mode: i.mode}
		if err := s.checkRights(a, i, &r, &e); err != nil {
			return none, err
		}
		if err := s.commit(e); err != nil {
			return none, err
		}
		return s.info(a, i, r.Path), nil
	})
}

// checkRights fills in what changes, if a may change it.
func (t *tree) checkRights(a *actor, i *inode, r *wire.SetRightsRequest, e *edit) error {
	if !a.super && i.owner.name != a.user {
		return t.denied(a, i, "change the rights of")
	}
	if r.Owner != "" && r.Owner != e.user {
		if err := t.checkOwner(a, i, r.Owner); err != nil {
			return err
		}
		e.user = r.Owner
	}
	if r.Group != "" && r.Group != e.group {
		if why := badName(r.Group); why != "" {
			return wire.Errorf(wire.Invalid, "group %.40q: %s", r.Group, why)
		}
		if !a.super && !slices.Contains(a.groups, r.Group) {
			return wire.Errorf(wire.Denied, "user %s is not in group %s, and cannot give it %s", a.user, r.Group, r.Path)
		}
		e.group = r.Group
	}
	if r.Mode > int(allModes) {
		return wire.Errorf(wire.Invalid, "mode %o: at most %o is allowed", r.Mode, allModes)
	}
	if r.Mode >= 0 {
		e.mode = uint16(r.Mode)
	}
	return nil
}

func (t *tree) checkOwner(a *actor, i *inode, owner string) error {
	if why := badName(owner); why != "" {
		return wire.Errorf(wire.Invalid, "user %.40q: %s", owner, why)
	}
	if !a.super {
		return wire.Errorf(wire.Denied, "user %s may not give %s away: only a superuser changes owners", a.user, i.path())
	}
	if i.file != nil && i.file.writing != nil {
		return wire.Errorf(wire.Unavailable, "%s: is being written; change its owner when it is closed", i.path())
	}
	if i == t.root {
		return nil
	}
	if err := t.room(nil, nil, owner, i.own()); err != nil {
		return wire.Errorf(wire.Quota, "%s: %w", i.path(), err)
	}
	return nil
}
