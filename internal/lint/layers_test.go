package lint

import (
	"slices"
	"strings"
	"testing"
)

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range load(t) {
		room := rowOf(f.room)
		seen[room] = true
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s: room %q has no row in the table of rules_test.go", f.path, f.room)
			continue
		}
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			ours, ok := strings.CutPrefix(imported, module)
			if !ok {
				continue
			}
			ours = strings.TrimPrefix(ours, "/")
			if ours == "" {
				ours = "."
			}
			if ours != f.room && !allows(allowed, ours) {
				t.Errorf("%s: %s may not import %s", f.path, room, ours)
			}
		}
	}
}

// rowOf finds the row of a folder: examples/x shares the row of examples unless it has one of its own, and so on.
func rowOf(room string) string {
	if _, own := rooms[room]; own {
		return room
	}
	for _, shared := range []string{"examples", "docs/course", "integration"} {
		if under(room, shared) {
			return shared
		}
	}
	return room
}

func allows(allowed []string, room string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		if prefix, ok := strings.CutSuffix(a, "..."); ok {
			return prefix == "" || under(room, strings.TrimSuffix(prefix, "/"))
		}
		return a == room
	})
}

func TestOnlyMembershipImportsMemberlist(t *testing.T) {
	for _, f := range load(t) {
		for _, p := range f.imports() {
			if strings.HasPrefix(p, "github.com/hashicorp/memberlist") && !under(f.room, "internal/membership") {
				t.Errorf("%s: only internal/membership imports memberlist", f.path)
			}
		}
	}
}
