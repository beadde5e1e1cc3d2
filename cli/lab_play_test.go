package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// An experiment whose runs are too long for a page gets none, and the command says so; its report has no link then.
func TestLongScenesHaveNoPlayer(t *testing.T) {
	scene := func(maps int32) lab.Scene {
		return lab.Scene{Name: "fifo", Setup: func() (sim.Config, []*sim.Job, error) {
			rng := rand.New(rand.NewPCG(1, 2))
			cfg, err := lab.Slotted(50, 4, 1, "fifo", nil)
			job := &sim.Job{Spec: &scheduler.JobSpec{Maps: maps}}
			for range maps {
				job.Maps = append(job.Maps, time.Duration(rng.Int64N(int64(time.Minute))))
			}
			return cfg, []*sim.Job{job}, err
		}}
	}
	short, long := scene(100), scene(20_000)
	reports := []lab.Report{{ID: "plain"}, {ID: "short", Scenes: []lab.Scene{short, short}}, {ID: "long", Scenes: []lab.Scene{long, long}}}
	o, cmd, said := labRun{out: t.TempDir()}, &cobra.Command{}, &bytes.Buffer{}
	cmd.SetErr(said)
	if err := o.writeScenes(cmd, reports, 200<<10); err != nil {
		t.Fatal(err)
	}
	if reports[0].Player != "" || reports[1].Player != "play/short.html" || reports[2].Player != "" {
		t.Errorf("players: %q, %q, %q", reports[0].Player, reports[1].Player, reports[2].Player)
	}
	if got := said.String(); !strings.HasPrefix(got, "long has no player: the page would have ") || strings.Count(got, "\n") != 1 {
		t.Errorf("it says %q", got)
	}
	files, err := os.ReadDir(filepath.Join(o.out, "play"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}
