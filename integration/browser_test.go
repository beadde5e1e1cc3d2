package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/web"
)

// pages makes a master show the dashboard, as the command does.
func pages(c *master.Config) {
	c.Dashboard = func(call func(ctx context.Context, method string, req, resp any) error) http.Handler {
		return web.New(web.Config{Call: call})
	}
}

// complaints gathers what a browser finds wrong with a page.
type complaints struct {
	mu   sync.Mutex // guards list
	list []string
}

func (c *complaints) add(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}

// hear listens until the browser is closed.
func (c *complaints) hear(t *testing.T, ctx context.Context) {
	thrown, logged := chromedp.Events(ctx, runtime.ExceptionThrown), chromedp.Events(ctx, log.EntryAdded)
	var wg sync.WaitGroup
	wg.Go(func() {
		for e, err := range thrown {
			if err != nil {
				return
			}
			c.add((&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
		}
	})
	wg.Go(func() {
		for e, err := range logged {
			if err != nil {
				return
			}
			if e.Entry.Level == log.EntryLevelError {
				c.add(e.Entry.Text + " " + e.Entry.URL)
			}
		}
	})
	t.Cleanup(wg.Wait)
}

// take returns what was heard since.
func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.list
	c.list = nil
	return out
}

// browser starts Chromium for a test.
func browser(t *testing.T) (context.Context, *complaints) {
	t.Helper()
	exe := require.Chromium(t)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(exe), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	heard := &complaints{}
	heard.hear(t, ctx)
	t.Cleanup(cancel) // before the listeners are waited for
	return ctx, heard
}

// TestBrowser: a page in a real browser follows the cluster without being loaded again, keeps open what its reader has opened,
// says when the master is gone and comes back with it; and the browser finds nothing wrong with any page.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ctx, heard := browser(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Racks: 2, Master: pages})
	base := "http://" + c.Addr
	step := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v (%v)", what, err, heard.take())
		}
	}
	until := func(what, condition string) {
		t.Helper()
		if _, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(time.Minute))); err != nil {
			t.Fatalf("%s: %v (%v)", what, err, heard.take())
		}
	}
	done := c.Finish(c.Submit(wire.JobSpec{Name: "done"}, "sleep", "--maps", "1", "--map-time", "1ms", "--output", "dfs:/b")).Job
	step("the first page", chromedp.Navigate(base+"/"))
	until("an idle cluster", `document.body.innerText.includes("Nothing runs")`)
	first := c.Submit(wire.JobSpec{Name: "first"}, "sleep", "--maps", "40", "--reduces", "1", "--map-time", "1h", "--output", "dfs:/a")
	until("a job appears by itself", `document.querySelector("main").innerText.includes("`+string(first)+`") && document.querySelectorAll(".box.used").length > 0`)

	for _, path := range []string{"/jobs", "/jobs/" + string(first), "/jobs/" + string(done), "/nodes", "/queues", "/network", "/files/", "/play", "/reports"} {
		step(path, chromedp.Navigate(base+path))
		until(path, `document.querySelector("main").innerText.length > 20`)
		if bad := heard.take(); len(bad) > 0 {
			t.Errorf("%s: the browser complains: %v", path, bad)
		}
		picture(t, ctx, path)
		for _, width := range []int64{1400, 900, 420} {
			step("narrow", chromedp.EmulateViewport(width, 900))
			broken, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](brokenWords))
			if err != nil {
				t.Fatalf("%s at %d: %v", path, width, err)
			}
			if len(broken) > 0 {
				t.Errorf("%s, %d pixels wide, breaks %q", path, width, broken)
			}
			picture(t, ctx, fmt.Sprintf("%s-%d", path, width))
		}
	}

	step("a job", chromedp.Navigate(base+"/jobs/"+string(done)))
	until("counters can be opened", `(() => { const d = document.querySelector("details"); if (!d) return false; d.open = true; return true })()`)
	until("its chart is drawn", `document.querySelectorAll("svg .span").length >= 2`)
	step("the first page again", chromedp.Navigate(base+"/"))
	until("it is live", `document.querySelector("#live").textContent === "live"`)
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	until("the master is gone, and the page says so", `document.querySelector("#live").className === "old"`)
	heard.take() // of course
	c.StartMaster()
	until("it is back", `document.querySelector("#live").className === "live"`)
}

// brokenWords is a program that lists the words of tables that stand on several lines, but for those that no column could hold, and
// whether the page is wider than the window.
const brokenWords = `(() => {
	const out = [];
	document.querySelectorAll("details").forEach(d => d.open = true);
	for (const cell of document.querySelectorAll("th, td")) {
		const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
		for (let n; n = texts.nextNode();)
			for (const word of n.data.matchAll(/[^\s\-\/]+/g)) {
				const range = document.createRange();
				range.setStart(n, word.index);
				range.setEnd(n, word.index + word[0].length);
				const lines = new Set([...range.getClientRects()].map(r => Math.round(r.top)));
				if (lines.size > 1 && word[0].length < 40) out.push(word[0]);
			}
	}
	const page = document.documentElement;
	if (page.scrollWidth > page.clientWidth) out.push("the page is " + page.scrollWidth + " wide in a window of " + page.clientWidth);
	return out;
})()`

// picture keeps what a page looks like where somebody wants it.
func picture(t *testing.T, ctx context.Context, path string) {
	t.Helper()
	dir := os.Getenv("MILLRACE_PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(strings.Trim(path, "/"), "/", "-")+".png"), png, 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
