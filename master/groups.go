package master

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strings"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/internal/tick"
)

// groups holds the groups of each user. It reads them from a file, and again when the file changes.
type groups struct {
	file string
	text []byte                              // the file's content; used by one goroutine
	now  atomic.Pointer[map[string][]string] // by user
}

const (
	// groupsEvery is how often the file is checked for changes.
	groupsEvery = 2 * time.Second
	// maxGroups bounds the size of the file.
	maxGroups = 16 << 20
)

// loadGroups reads a file in the form of /etc/group: NAME:PASSWORD:NUMBER:USER,USER... It ignores passwords and
// numbers.
func loadGroups(name string) (*groups, error) {
	g := &groups{file: name}
	if _, err := g.load(); err != nil {
		return nil, err
	}
	return g, nil
}

// load reads the file, if it has changed. A file with a mistake changes nothing.
func (g *groups) load() (changed bool, err error) {
	info, err := os.Stat(g.file)
	if err == nil && info.Size() > maxGroups {
		err = fmt.Errorf("%d bytes, the limit is %d", info.Size(), maxGroups)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(g.file)
	}
	if err != nil {
		return false, fmt.Errorf("groups: %w", err)
	}
	if g.text != nil && bytes.Equal(b, g.text) {
		return false, nil
	}
	all, err := parseGroups(string(b))
	if err != nil {
		return false, fmt.Errorf("groups: %s: %w", g.file, err)
	}
	g.text = b
	g.now.Store(&all)
	return true, nil
}

// parseGroups returns the groups of each user. It ignores empty lines and those that begin with #.
func parseGroups(text string) (map[string][]string, error) {
	out := map[string][]string{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, ":")
		if len(f) != 4 || f[0] == "" {
			return nil, fmt.Errorf("line %d is not NAME:PASSWORD:NUMBER:USERS, as in /etc/group", n)
		}
		for who := range strings.SplitSeq(f[3], ",") {
			if who = strings.TrimSpace(who); who != "" {
				out[who] = append(out[who], f[0])
			}
		}
	}
	return out, nil
}

// of returns the groups of a user.
func (g *groups) of(name string) []string { return (*g.now.Load())[name] }

// follow reads the file again when it changes, until ctx ends.
func (g *groups) follow(ctx context.Context, log *slog.Logger) {
	said := ""
	for range tick.Every(ctx, groupsEvery) {
		changed, err := g.load()
		switch {
		case changed:
			log.Info("the groups of users have changed", "file", g.file)
			said = ""
		case err != nil && err.Error() != said: // once for each mistake
			said = err.Error()
			log.Error("the groups of users stay as they were", "error", err)
		}
	}
}

// currentUser returns the name of the user who runs this process.
func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "root"
}
