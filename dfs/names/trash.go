package names

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// The trash of a user is /user/NAME/.Trash. It has a directory for each minute in which something was thrown
// away, with the old paths in it.
const (
	trashName   = ".Trash"
	trashBucket = "20060102-1504"
	// maxBuckets is how often a name can be thrown away in one minute.
	maxBuckets = 1000
	// sweepEvery is how often the service looks for old trash.
	sweepEvery = time.Minute
)

// discardTo moves i to the user's trash. What is in the trash already is deleted.
func (s *Service) discardTo(a *actor, i *inode, r *wire.DeleteRequest) error {
	if badName(r.User) != "" || strings.Contains(r.User, "/") {
		return wire.Errorf(wire.Invalid, "delete %s: user %q has no trash: skip it", r.Path, r.User)
	}
	trash := "/user/" + r.User + "/" + trashName
	path := i.path()
	switch {
	case strings.HasPrefix(path+"/", trash+"/"):
		return s.commit(edit{op: opRemove, id: i.id, mtime: s.nowMillis()})
	case strings.HasPrefix(trash+"/", path+"/"):
		return wire.Errorf(wire.Invalid, "delete %s: your trash is in it: skip the trash if it shall go", r.Path)
	}
	bucket := trash + "/" + s.cfg.Wall().UTC().Format(trashBucket)
	for n := range maxBuckets {
		to := bucket + path
		if n > 0 {
			to = fmt.Sprintf("%s-%d%s", bucket, n, path)
		}
		c, err := s.claim(a, to, true)
		if wire.KindOf(err) == wire.Invalid && err != nil && n+1 < maxBuckets || err == nil && c.there != nil {
			continue // this name was thrown away earlier in this minute, or a file stands where a directory should
		}
		if err == nil {
			err = s.mayAdd(a, c)
		}
		if err != nil {
			return wire.Errorf(wire.KindOf(err), "delete %s: it cannot be moved to the trash: %w", r.Path, err)
		}
		c.umask = 0o077 // the trash must not reveal what a directory hid
		return s.throw(i, c, r, to)
	}
	return wire.Errorf(wire.Invalid, "delete %s: it was thrown away %d times in this minute: skip the trash", r.Path, maxBuckets)
}

func (s *Service) throw(i *inode, c claim, r *wire.DeleteRequest, to string) error {
	edits, err := s.move(&wire.RenameRequest{From: r.Path, To: to, User: r.User}, i, c)
	if err != nil {
		return wire.Errorf(wire.KindOf(err), "delete: the trash cannot take it (skip the trash to remove it for good): %w", err)
	}
	return s.commit(edits...)
}

// sweepTrash deletes what has been in anybody's trash for too long.
func (s *Service) sweepTrash(now time.Duration) error {
	if now-s.swept < sweepEvery {
		return nil
	}
	s.swept = now
	users := s.root.dir.kids.get("user")
	if users == nil || users.dir == nil {
		return nil
	}
	limit := s.cfg.Wall().Add(-s.cfg.TrashAfter).UnixMilli()
	var old []edit
	for home := range users.dir.kids.all() {
		if home.dir == nil {
			continue
		}
		if t := home.dir.kids.get(trashName); t != nil && t.dir != nil {
			for bucket := range t.dir.kids.all() {
				if bucket.mtime < limit && len(old) < maxBuckets {
					old = append(old, edit{op: opRemove, id: bucket.id, mtime: s.nowMillis()})
				}
			}
		}
	}
	if len(old) == 0 {
		return nil
	}
	return s.commit(old...)
}
