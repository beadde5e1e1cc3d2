package names

import "strings"

// attributes are the owner and mode of a new directory.
type attributes struct {
	owner string
	mode  uint16
}

// standing returns the attributes of a directory that the service makes by itself: /tmp, where all users may
// leave files and only owners remove them, millrace's own directory in it, and the homes of users. Such a
// directory appears with the first name below it. It gets the service's umask, as if an administrator had made
// it, not that of the first client.
func (s *Service) standing(list []string, user string) (attributes, bool) {
	switch path := strings.Join(list, "/"); {
	case path == "tmp" || path == "tmp/.millrace":
		return attributes{s.cfg.Superuser, allModes}, true
	case path == "user":
		return attributes{s.cfg.Superuser, dirMode(s.cfg.Umask)}, true
	case len(list) == 2 && list[0] == "user" && list[1] == user && user != "":
		return attributes{user, dirMode(s.cfg.Umask)}, true
	}
	return attributes{}, false
}

func dirMode(umask uint16) uint16  { return 0o777 &^ umask }
func fileMode(umask uint16) uint16 { return 0o666 &^ umask }

// parentMode returns the mode for directories made on the way to a new name. Whatever the umask, their owner
// can add the name. (HDFS too)
func parentMode(umask uint16) uint16 { return dirMode(umask) | 0o300 }

// mayAdd returns an error unless a may make what c claims. Standing directories need no rights; a name in the last
// of them needs its rights.
func (s *Service) mayAdd(a *actor, c claim) error {
	if c.there != nil {
		return s.mustTake(a, c.there)
	}
	at := c.at
	for n := len(c.list) - len(c.make); n <= len(c.list); n++ {
		d, ok := s.standing(c.list[:n], a.user)
		if !ok {
			return s.must(a, at, write|execute)
		}
		at = &inode{name: c.list[n-1], parent: at, owner: s.accountOf(d.owner), mode: d.mode, group: c.at.group, dir: &directory{}}
	}
	return nil
}

// accountOf is account without creating one: for an unknown user it returns an empty account.
func (t *tree) accountOf(name string) *account {
	if a := t.accounts[name]; a != nil {
		return a
	}
	return &account{name: name}
}
