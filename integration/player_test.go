package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// viewer drives a browser for a test.
type viewer struct {
	t     *testing.T
	ctx   context.Context
	heard *complaints
}

func newViewer(t *testing.T) *viewer {
	t.Helper()
	ctx, heard := browser(t)
	return &viewer{t, ctx, heard}
}

func (v *viewer) open(address string) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, chromedp.Navigate(address)); err != nil {
		v.t.Fatalf("%s: %v (%v)", address, err, v.heard.take())
	}
}

// until waits until a condition of the page holds.
func (v *viewer) until(what, condition string) {
	v.t.Helper()
	for {
		_, err := chromedp.Run(v.ctx, chromedp.Poll[bool](condition, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(time.Minute)))
		switch {
		case err == nil:
			return
		case v.ctx.Err() == nil && (strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "target navigated")): // it was of the page before
			continue
		}
		v.t.Fatalf("%s: %v (%v)", what, err, v.heard.take())
	}
}

// does runs a piece of script.
func (v *viewer) does(what, script string) {
	v.t.Helper()
	v.until(what, "(() => { "+script+"; return true })()")
}

// refused waits until the browser has noted that a run was refused, which it does a while after the page has shown why.
func (v *viewer) refused() {
	v.t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		bad := v.heard.take()
		switch {
		case len(bad) == 1 && strings.Contains(bad[0], "422"):
			return
		case len(bad) > 0:
			v.t.Fatalf("the browser complains: %v", bad)
		case time.Since(begin) > time.Minute:
			v.t.Fatal("the browser has not noted the refusal")
		}
	}
}

func (v *viewer) quiet() {
	v.t.Helper()
	if bad := v.heard.take(); len(bad) > 0 {
		v.t.Errorf("the browser complains: %v", bad)
	}
}

// TestPlayer opens the page that sim run --out writes, from its file: it plays, steps from decision to decision, can be scrubbed,
// compares two policies on one clock, and at the end shows what the report says.
func TestPlayer(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	dir := t.TempDir()
	flags := []string{"sim", "run", "--trace", "gen:fb-2010:60", "--scale", "0.1", "--load", "0.9", "--nodes", "20", "--racks", "4", "--policy", "fifo,fair", "--out", dir, "--json"}
	out, err := exec.Command(millrace, flags...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Policies map[string]struct {
			Metrics []struct {
				Completion struct{ Mean float64 } `json:"completion_s"`
				Slowdown   struct{ Mean float64 } `json:"slowdown"`
				NodeLocal  float64                `json:"node_local"`
			} `json:"metrics"`
		} `json:"policies"`
	}
	if err := json.Unmarshal(out, &report); err != nil || len(report.Policies) != 2 {
		t.Fatalf("%v: %.300s", err, out)
	}
	v.open("file://" + filepath.Join(dir, "play.html"))
	v.until("it is drawn", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side canvas").length === 2`)
	v.until("it says how to see the result", `/press the end key for the result/.test(document.querySelector("#difference").innerText)`)
	picture(t, v.ctx, "player-start")

	v.does("the next decision", `document.querySelector("#next").click(); document.querySelector("#next").click()`)
	v.until("it is told, with its reason and who else waited", `[...document.querySelectorAll(".decision")].every(d => /decision \d+ of \d+/.test(d.innerText) && d.querySelector(".why").innerText.length > 5 && /waited/.test(d.innerText))`)
	v.does("back", `window.before = player.t; document.querySelector("#back").click(); if (!(player.t < window.before)) throw new Error("it did not go back")`)
	v.does("scrubbing", `const b = document.querySelector("#bar"), r = b.getBoundingClientRect(); b.dispatchEvent(new PointerEvent("pointerdown", {clientX: r.left + r.width / 2, clientY: r.top + 5, pointerId: 1, bubbles: true})); if (Math.abs(player.t / player.end - 0.5) > 0.01) throw new Error("it is at " + player.t)`)
	v.until("both are compared", `/times as long on average under fair/.test(document.querySelector("#difference").innerText)`)
	picture(t, v.ctx, "player-middle")
	v.does("play", `player.seek(0); document.querySelector("#play").click()`)
	v.until("time goes on", `player.t > player.end / 100`)
	v.does("a key pauses", `document.dispatchEvent(new KeyboardEvent("keydown", {key: " ", bubbles: true})); if (player.playing) throw new Error("it plays on")`)
	v.does("to the end", `document.dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true}))`)
	for i, policy := range []string{"fifo", "fair"} {
		m := report.Policies[policy].Metrics[0]
		side := fmt.Sprintf(`document.querySelectorAll("article.side")[%d]`, i)
		v.until("the name of "+policy, side+`.querySelector("h2").innerText === "`+policy+`"`)
		for number, want := range map[string]float64{"completion": m.Completion.Mean, "slowdown": m.Slowdown.Mean, "local": 100 * m.NodeLocal} {
			v.until(fmt.Sprintf("%s: %s is %v, as in the report", policy, number, want), fmt.Sprintf(`Math.abs(parseFloat(%s.querySelector('[data-number="%s"]').innerText) - %v) <= 0.006 * Math.max(1, %v)`, side, number, want, want))
		}
		v.until("all jobs are done", side+`.querySelector('[data-number="finished"]').innerText === "60 of 60"`)
	}
	v.does("dark, and for a projector", `document.querySelector("#theme").click(); document.body.classList.add("big"); player.resize()`)
	picture(t, v.ctx, "player-end")
	v.quiet()
}

// TestPlayerIsSmooth: a thousand containers are drawn in less than a frame of sixty a second takes. The bound is wide: a browser
// without a graphics card draws here, beside other tests.
func TestPlayerIsSmooth(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	dir := t.TempDir()
	if out, err := exec.Command(millrace, "sim", "run", "--trace", "gen:fb-2010:300", "--load", "0.9", "--scale", "0.2", "--nodes", "125", "--racks", "5", "--containers", "8", "--policy", "fair", "--out", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v.open("file://" + filepath.Join(dir, "play.html"))
	v.until("it is drawn", `document.body.dataset.ready === "yes"`)
	v.does("drawing", `const from = performance.now(); for (let i = 0; i < 60; i++) { player.t = player.end * i / 60; player.draw(false) } window.frame = (performance.now() - from) / 60`)
	v.until("a frame", `window.frame < 60`)
	frame, err := chromedp.Run(v.ctx, chromedp.Evaluate[float64](`window.frame`))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a frame of 1,000 containers takes %.2f ms", frame)
	v.quiet()
}

// TestPlayground: a stranger chooses a lecture, changes policies and parameters, draws a job, shares a link; what is wrong is said
// on the page.
func TestPlayground(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	v.open(servePlayground(t))
	v.until("the first lecture runs", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side").length === 2`)
	picture(t, v.ctx, "playground")
	choose := func(what, selector, value string) {
		t.Helper()
		v.does(what, fmt.Sprintf(`const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event("change", {bubbles: true}))`, selector, value))
	}
	choose("a lecture", "#lectures", "narrow-link")
	v.until("it runs, with its text", `document.body.dataset.ready === "yes" && /links turn orange/.test(document.querySelector("#lecture").innerText) && document.querySelectorAll("article.side h2")[1].innerText === "nas"`)
	v.does("NAS wins", `player.seek(player.end); const c = (i) => player.sides[i].run.numbers(player.end).completion; if (!(c(1) < c(0))) throw new Error(c(0) + " " + c(1))`)
	choose("a wide link", `[data-key="uplink"]`, "20")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("NAS loses", `document.body.dataset.ready === "yes" && playground.scenario.uplink === 20 && player.sides[1].run.numbers(player.end).completion > player.sides[0].run.numbers(player.end).completion`)

	choose("another policy", `[data-plan="1"] select`, "fbq")
	choose("a parameter", `[data-plan="1"] [data-param="limits"]`, "700")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("it runs", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side h2")[1].innerText === "fbq"`)
	link, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`location.href`))
	if err != nil || !strings.Contains(link, "fbq") || !strings.Contains(link, "700") {
		t.Fatalf("the link has not the set-up: %s, %v", link, err)
	}
	v.open("about:blank")
	v.open(link)
	v.until("the link brings it back", `document.body.dataset.ready === "yes" && playground.scenario.policies[1].params.limits === "700" && document.querySelectorAll("article.side h2")[1].innerText === "fbq"`)

	choose("a lecture", "#lectures", "your-own")
	v.until("a script beats fair", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side h2")[1].innerText === "mine" && player.sides[1].run.numbers(player.end).completion < 0.8 * player.sides[0].run.numbers(player.end).completion`)
	v.until("code in the lecture's text looks like code", `[...document.querySelectorAll("#lecture code")].some(c => c.innerText === "job.submitted") && !document.querySelector("#lecture").innerText.includes("\x60")`)
	write := func(what, code string) {
		t.Helper()
		v.does(what, fmt.Sprintf(`const s = document.querySelector("textarea"); s.value = %q; s.dispatchEvent(new Event("input")); document.querySelector("#run").click()`, code))
	}
	write("a script with a mistake", "def key(job, node, now):\n    return job.nothing\n")
	v.until("the page says where", `document.body.dataset.ready === "failed" && /mine:2: in key: job has no .nothing/.test(document.querySelector("#problem").innerText)`)
	v.refused()
	write("a script that eats memory", "def key(job, node, now):\n    s = 'x'\n    for i in range(60):\n        s += s\n    return s\n")
	v.until("only its run ends", `document.body.dataset.ready === "failed" && /memory/.test(document.querySelector("#problem").innerText)`)
	v.refused()
	write("first come, first served", "def key(job, node, now):\n    return job.submitted\n")
	v.until("it runs", `document.body.dataset.ready === "yes" && player.sides[1].run.numbers(player.end).completion > player.sides[0].run.numbers(player.end).completion`)
	picture(t, v.ctx, "playground-script")

	choose("a cluster that cannot be", `[data-key="racks"]`, "7")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("the page says why not", `document.body.dataset.ready === "failed" && /racks must be of equal size/.test(document.querySelector("#problem").innerText)`)
	v.refused()
	choose("five racks", `[data-key="racks"]`, "5")
	choose("jobs of one's own", "#model", "drawn")
	v.does("a job is drawn", `const c = document.querySelector("#draw"), r = c.getBoundingClientRect(), p = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {clientX: r.left + x * r.width, clientY: r.top + y * r.height, pointerId: 1, bubbles: true})); c.setPointerCapture = () => {}; p("pointerdown", 0.1, 0.9); p("pointermove", 0.3, 0.5); p("pointerup", 0.3, 0.5); document.querySelector("#run").click()`)
	v.until("it runs", `document.body.dataset.ready === "yes" && player.sides[0].run.jobs.length === 1 && player.sides[0].run.jobs[0].maps === 20`)
	picture(t, v.ctx, "playground-drawn")
	v.quiet()
}

// servePlayground starts the command and returns where its page is.
func servePlayground(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), millrace, "play", "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context of the test has ended it
	said, err := bufio.NewReader(out).ReadString('\n')
	_, rest, ok := strings.Cut(said, "open ")
	address, _, _ := strings.Cut(rest, " ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", said, err)
	}
	return address
}
