package secure

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A key file may also list users whose certificates are revoked, one per line: the user, and up to which time of
// issue.
const revokedPrefix = "revoked "

// maxRevoked is how many users a file may name.
const maxRevoked = 10_000

// revocation parses such a line.
func (a *authority) revocation(line string) (bool, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), revokedPrefix)
	if !ok {
		return false, nil
	}
	user, at, _ := strings.Cut(rest, " ")
	t, err := time.Parse(time.RFC3339, at)
	if err != nil || user == "" || len(a.revoked) >= maxRevoked {
		return true, fmt.Errorf("cluster key: the line %.80q, of at most %d, should be as \"revoked ann 2026-01-02T15:04:05Z\"", line, maxRevoked)
	}
	a.revoked[user] = max(a.revoked[user], t.Unix())
	return true, nil
}

// CheckUser returns why a user cannot have a name. A name is part of paths (/user/ann), a word in key files, and
// read by others. Revoke accepts all names that pass, and others, because older programs made certificates for any
// name.
func CheckUser(name string) error {
	why := ""
	switch {
	case name == "" || len(name) > wire.MaxName:
		why = fmt.Sprintf("has %d bytes, must have 1 to %d", len(name), wire.MaxName)
	case name == "." || name == ".." || strings.Contains(name, "/"):
		why = "is no part of a path"
	case name == wire.AllUsers:
		why = "stands for all users"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
		why = "has a blank, or what is no letter, digit or sign"
	default:
		return nil
	}
	return fmt.Errorf("user %.40q: not a name: it %s", name, why)
}

// Revoke records in a key file that the present certificates of a user are revoked.
func Revoke(file, user string, now time.Time) (err error) {
	if user == "" || len(user) > wire.MaxName || strings.ContainsFunc(user, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("user %.40q: not a name", user)
	}
	if _, err := Load(file); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = fmt.Fprintf(f, "\n%s%s %s\n", revokedPrefix, user, now.UTC().Format(time.RFC3339)); err != nil {
		return err
	}
	return f.Sync()
}

// refuses returns why a caller with a verified certificate is no longer served. The certificate of a task is good for
// what its job may do, and as long as the job runs: who ends the job ends it.
func (k *Key) refuses(c rpc.Caller) error {
	if at, ok := k.current().revoked[c.User]; ok && c.Node == "" && c.Job == "" && c.Issued <= at {
		return wire.Errorf(wire.Denied, "the certificates that user %s had until %s are revoked: ask an administrator for a new one",
			c.User, time.Unix(at, 0).UTC().Format(time.RFC3339))
	}
	return nil
}
