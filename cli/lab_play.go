package cli

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// mostPage is the largest player that a browser still opens at once.
const mostPage = 2 << 20

// writeScenes writes a player for each report that names runs to watch, and links it in the report. If a player has
// more than most bytes, the report says so instead.
func (o *labRun) writeScenes(cmd *cobra.Command, reports []lab.Report, most int) error {
	for i := range reports {
		r := &reports[i]
		if len(r.Scenes) == 0 {
			continue
		}
		page, err := playScenes(r)
		if err != nil {
			return fmt.Errorf("player of %s: %w", r.ID, err)
		}
		if len(page) > most {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s has no player: the page would have %s, and may have %s\n", r.ID, human.Bytes(int64(len(page))), human.Bytes(int64(most)))
			continue
		}
		r.Player = path.Join("play", r.ID+".html")
		if err := os.MkdirAll(filepath.Join(o.out, "play"), 0o755); err != nil {
			return err
		}
		if err := writeWhole(filepath.Join(o.out, r.Player), string(page)); err != nil {
			return err
		}
	}
	return nil
}

// playScenes runs the scenes of a report side by side and returns the page that plays them.
func playScenes(r *lab.Report) ([]byte, error) {
	tapes := make([]*play.Recording, len(r.Scenes))
	var both errgroup.Group
	for i, scene := range r.Scenes {
		both.Go(func() (err error) {
			tapes[i], err = playScene(scene)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err := play.Write(&page, "../report.html#"+r.ID, r.ID+": "+r.Title, tapes...)
	return page.Bytes(), err
}

// playScene runs a scene with a recorder.
func playScene(s lab.Scene) (*play.Recording, error) {
	cfg, jobs, err := s.Setup()
	if err != nil {
		return nil, err
	}
	tape := play.NewRecorder(s.Name, s.Admission)
	cfg.Lines = tape.Hear
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return nil, err
	}
	if cfg.Stop != nil {
		if err := cfg.Stop(); err != nil { // a script may fail at the very end
			return nil, err
		}
	}
	// Each document measures slowdown in its own way, so the page shows none.
	rec := recording(tape, compare.Measure(res, (*sim.JobResult).Completion, 1))
	delete(rec.Report, "slowdown")
	return rec, nil
}
