package master

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestRenamesAreAudited: also many at once, or whoever moves files away would do it that way.
func TestRenamesAreAudited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	a, err := audit.Open(path, audited, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.Called(rpc.Caller{User: "ann"}, api.DFSRenameAll.Name, wire.RenameAllRequest{Moves: []wire.Move{{From: "/shared/a", To: "/home/ann/a"}}}, nil)
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), "/shared/a") {
		t.Errorf("the log has %q (%v)", b, err)
	}
}
