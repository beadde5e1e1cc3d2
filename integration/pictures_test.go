package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestPictures makes the pictures of the README: `make pictures` keeps them, in the directory that MILLRACE_PICTURES names.
// Elsewhere it holds that the pages in them can be drawn, at the width of the README.
func TestPictures(t *testing.T) {
	t.Parallel()
	dir, quick := os.Getenv("MILLRACE_PICTURES"), "--quick=false"
	if dir == "" {
		dir, quick = t.TempDir(), "--quick"
	}
	v := newViewer(t)
	take := func(name string, width, height int64, address, condition string) {
		t.Helper()
		if err := chromedp.Do(v.ctx, chromedp.EmulateViewport(width, height)); err != nil {
			t.Fatal(err)
		}
		v.open(address)
		v.until(name, condition)
		png, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	if said, err := exec.Command(millrace, "sim", "run", "--trace", "gen:fb-2010:300", "--policy", "fair,nas", "--uplink", "1", "--nic", "1", "--scale", "0.2", "--out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	take("player", 1400, 1000, "file://"+filepath.Join(out, "play.html#t=900"), `document.body.dataset.ready === "yes" && player.t === 900000`)
	if said, err := exec.Command(millrace, "lab", "run", "marp-terasort", quick, "--out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	take("laboratory", 1400, 1000, "file://"+filepath.Join(out, "report.html"), `(() => { const f = document.querySelector("figure svg"); if (!f) return false; f.scrollIntoView(); return true })()`)

	c := testcluster.Start(t, testcluster.Config{Workers: 8, Racks: 2, Master: pages})
	for _, job := range []wire.JobSpec{{Name: "logs", User: "ann"}, {Name: "index", User: "bob"}, {Name: "report", User: "eve"}} {
		c.Submit(job, "sleep", "--maps", "40", "--reduces", "2", "--map-time", "2s", "--output", "dfs:/"+job.Name)
	}
	take("dashboard", 1400, 800, "http://"+c.Addr+"/", `document.querySelectorAll(".box.used").length > 8 && /1[0-9] of 40|[2-9] of 40|[5-9] %|[1-3][0-9] %/.test(document.body.innerText)`)
	v.quiet()
}
