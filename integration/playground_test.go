package integration

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPlayground: a stranger chooses a lecture, changes policies and parameters, draws a job, shares a link; what is wrong is said
// on the page.
func TestPlayground(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	v.open(servePlayground(t))
	v.until("the first lecture runs, with its name and text", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side").length === 2 && document.querySelector("#lectures").value === "convoy" && document.querySelectorAll("#lecture [data-figure]").length > 0`)
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
	v.does("a slider moves its box", `const s = document.querySelector('[data-key="load"]').previousSibling; s.value = 500; s.dispatchEvent(new Event("input")); if (playground.scenario.load !== Number(document.querySelector('[data-key="load"]').value) || !(playground.scenario.load > 0.1 && playground.scenario.load < 3)) throw new Error("load " + playground.scenario.load)`)
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
	write("a script that eats memory", "def key(job, node, now):\n    s = 'x'\n    for i in range(60):\n        s += s\n    return s\n")
	v.until("only its run ends", `document.body.dataset.ready === "failed" && /memory/.test(document.querySelector("#problem").innerText)`)
	write("first come, first served", "def key(job, node, now):\n    return job.submitted\n")
	v.until("it runs", `document.body.dataset.ready === "yes" && player.sides[1].run.numbers(player.end).completion > player.sides[0].run.numbers(player.end).completion`)
	picture(t, v.ctx, "playground-script")

	choose("a script on the other side, too", `[data-plan="0"] select`, "script")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("the two are told apart", `document.body.dataset.ready === "yes" && [...document.querySelectorAll("article.side h2")].map(h => h.innerText).join() === "mine,mine (2)"`)
	choose("fair", `[data-plan="0"] select`, "fair")
	choose("and fair", `[data-plan="1"] select`, "fair")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("so are two of one policy", `document.body.dataset.ready === "yes" && [...document.querySelectorAll("article.side h2")].map(h => h.innerText).join() === "fair,fair (2)"`)
	choose("a cluster that cannot be", `[data-key="racks"]`, "7")
	v.does("run", `document.querySelector("#run").click()`)
	v.until("the page says why not", `document.body.dataset.ready === "failed" && /racks must be of equal size/.test(document.querySelector("#problem").innerText)`)
	choose("five racks", `[data-key="racks"]`, "5")
	choose("jobs of one's own", "#model", "drawn")
	v.does("a job is drawn", `const c = document.querySelector("#draw"), r = c.getBoundingClientRect(), p = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {clientX: r.left + x * r.width, clientY: r.top + y * r.height, pointerId: 1, bubbles: true})); c.setPointerCapture = () => {}; p("pointerdown", 0.1, 0.9); p("pointermove", 0.3, 0.5); p("pointerup", 0.3, 0.5); document.querySelector("#run").click()`)
	v.until("it runs", `document.body.dataset.ready === "yes" && player.sides[0].run.jobs.length === 1 && player.sides[0].run.jobs[0].maps === 20`)
	picture(t, v.ctx, "playground-drawn")
	v.quiet()
}

// TestFirstHour does what docs/course/first-hour.md says, by the words that it has for what to press: NAS wins and loses, a script that was typed on the
// page, key by key, beats Fair, and the set-up goes on as a link and as a file.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	page, err := os.ReadFile("../docs/course/first-hour.md")
	if err != nil {
		t.Fatal(err)
	}
	v.open(servePlayground(t))
	ready := func(what, condition string) {
		t.Helper()
		v.until(what, `document.body.dataset.ready === "yes" && (() => { const mean = (i) => player.sides[i].run.numbers(player.end).completion; return `+condition+` })()`)
	}
	said := func(words string) string {
		t.Helper()
		if !strings.Contains(string(page), words) {
			t.Fatalf("the page of the course does not say %s", words)
		}
		return strings.Trim(words, "*")
	}
	lecture := func(title string) {
		t.Helper()
		v.does("the lecture "+title, fmt.Sprintf(`const s = document.querySelector("#lectures"); s.value = [...s.options].find(o => o.text === %q).value; s.dispatchEvent(new Event("change", {bubbles: true}))`, said("*"+title+"*")))
	}
	typed := func(selector, text string) {
		t.Helper()
		err := chromedp.Do(v.ctx, chromedp.Focus(selector), chromedp.KeyEvent("a", chromedp.KeyModifiers(kb.ModifierCtrl)), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(text))
		if err != nil {
			t.Fatalf("typing into %s: %v", selector, err)
		}
	}
	field := func(label, key, value string) {
		t.Helper()
		v.until("the field "+label, fmt.Sprintf(`document.querySelector('[data-key="%s"]').closest("label").innerText.includes(%q)`, key, said("*"+label+"*")))
		typed(fmt.Sprintf(`[data-key="%s"]`, key), value)
	}
	press := func(word string) {
		t.Helper()
		v.does("find "+word, fmt.Sprintf(`document.querySelectorAll("[data-pressed]").forEach(b => b.removeAttribute("data-pressed")); [...document.querySelectorAll("button")].find(b => b.innerText.replace("▶", "").trim() === %q).dataset.pressed = "yes"`, said("**"+word+"**")))
		if err := chromedp.Do(v.ctx, chromedp.Click("[data-pressed]")); err != nil {
			t.Fatalf("pressing %s: %v", word, err)
		}
	}
	ready("a convoy has run", `player.sides.length === 2`)
	bold, err := regexp.Compile(`\*\*([^*]+)\*\*`)
	if err != nil {
		t.Fatal(err)
	}
	press("play")
	v.until("time goes on", `player.t > 0`)
	lecture("A narrow link")
	ready("NAS wins", `player.sides[1].run.name === "nas" && mean(1) < mean(0)`)
	for _, w := range bold.FindAllStringSubmatch(string(page), -1) {
		v.until("the page has what is called "+w[1], fmt.Sprintf(`[...document.querySelectorAll("button, label, kbd")].some(e => e.textContent.includes(%q))`, w[1]))
	}
	v.until("the text has the numbers of the run", `(() => { const f = [...document.querySelectorAll("#lecture [data-figure]")]; return f.length > 4 && f.every(e => /^[\d.]+( .?i?B)?$/.test(e.innerText)) })()`)
	v.does("to a congestion", `player.seek(0); const k = document.querySelector("#what"); k.value = "^congestion$"; k.dispatchEvent(new Event("change")); document.querySelector("#later").click(); if (!(player.t > 0) || !/congested/.test(document.querySelector("#found").innerText)) throw new Error("it is at " + player.t)`)
	field("Gb/s of a rack's link", "uplink", "20")
	press("run")
	ready("NAS loses", `playground.scenario.uplink === 20 && player.sides[1].run.name === "nas" && mean(1) > mean(0)`)
	lecture("A policy of your own")
	ready("the script of the lecture has run", `player.sides[1].run.name === "mine"`)
	var script strings.Builder
	for line := range strings.Lines(string(page)) {
		if code, ok := strings.CutPrefix(line, "       "); ok {
			script.WriteString(code)
		}
	}
	typed("textarea", script.String())
	v.until("the page has what was typed", fmt.Sprintf(`playground.scenario.policies[1].params.code === %q`, script.String()))
	press("run")
	ready("the script of one's own beats Fair", `player.sides[0].run.name === "fair" && (window.won = mean(0) - mean(1)) > 0.1 * mean(0)`)
	v.does("to the end", `player.seek(player.end)`)
	v.until("and the page says so", `/better/.test(document.querySelector('[data-against="completion"]').innerText)`)
	picture(t, v.ctx, "first-hour")
	field("load", "load", "0.5")
	press("run")
	ready("less is left of the difference", `playground.scenario.load === 0.5 && mean(0) - mean(1) < window.won / 2`)
	press("copy link")
	v.until("the link has the script", `decodeURIComponent(location.hash).includes("The job with the least left to start comes first")`)
	v.does("nobody asks where the file goes", `const real = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then(text => { window.saved = text }); return real(b) }; HTMLAnchorElement.prototype.click = () => {}`)
	press("save as scenario file")
	v.until("it is saved", `!!window.saved`)
	saved, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`window.saved`))
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err != nil || os.WriteFile(file, []byte(saved), 0o644) != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(millrace, "sim", "run", "--file", file).CombinedOutput(); err != nil || !strings.Contains(string(out), "│ mine ") {
		t.Errorf("sim run of the file: %v\n%s", err, out)
	}
	v.quiet()
}

// TestPlaygroundRuns: a lecture draws its sweep, of which a point can be played; a run tells how far it is, and can be cancelled; machines may be
// of several kinds, and a trace that the server was given can be chosen. The page fits its window, in light and dark.
func TestPlaygroundRuns(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	day, err := exec.Command(millrace, "trace", "gen", "--jobs", "30").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "day.tsv")
	if err := os.WriteFile(file, day, 0o600); err != nil {
		t.Fatal(err)
	}
	v.open(servePlayground(t, "--trace", file))
	v.until("the first lecture runs", `document.body.dataset.ready === "yes"`)
	v.does("a lecture", `const s = document.querySelector("#lectures"); s.value = "admission"; s.dispatchEvent(new Event("change", {bubbles: true}))`)
	v.until("its sweep is drawn", `document.querySelectorAll("#sweep .point").length === 12 && /makespan/.test(document.querySelector("#sweep").innerText)`)
	v.until("its text has figures, and drivers have seats", `[...document.querySelectorAll("#lecture [data-figure]")].every(e => /^[\d.]+$/.test(e.innerText)) && document.querySelectorAll('[data-side="A"] .seat').length > 0`)
	for _, width := range []int64{1400, 900, 420} {
		if err := chromedp.Do(v.ctx, chromedp.EmulateViewport(width, 900)); err != nil {
			t.Fatal(err)
		}
		v.does(fmt.Sprintf("it fits %d pixels", width), `const page = document.documentElement; if (page.scrollWidth > page.clientWidth) throw new Error("too wide: " + [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > page.clientWidth + 1).map(e => e.tagName + "#" + e.id + "." + e.className).join(" "))`)
		picture(t, v.ctx, fmt.Sprintf("playground-%d", width))
		v.does("dark or light", `document.querySelector("#theme").click()`)
	}
	v.does("a point is chosen", `document.querySelector('#sweep .point[data-value="0.3"]').dispatchEvent(new MouseEvent("click"))`)
	v.until("it is played", `document.body.dataset.ready === "yes" && playground.scenario.policies[0].admission.params.marp === "0.3" && document.querySelectorAll("#sweep .point").length === 12`)

	v.does("a long run", `Object.assign(playground.scenario, { nodes: 40, racks: 8, containers: 6, trace: "gen:fb-2010:500", scale: 0.6, uplink: 1, nic: 1, policies: [{ policy: "nas" }, { policy: "fair" }] }); delete playground.scenario.load; playground.show(); playground.run()`)
	v.until("it tells how far it is", `/^\d+ of 1000 jobs/.test(document.querySelector("#status").innerText) && !document.querySelector("#cancel").hidden`)
	v.does("it is cancelled", `document.querySelector("#cancel").click()`)
	v.until("it has ended", `document.body.dataset.ready === "cancelled" && document.querySelector("#cancel").hidden && document.querySelector("#status").innerText === "cancelled"`)

	v.does("a trace, and two kinds of machine", `const m = document.querySelector("#model"); m.value = [...m.options].find(o => /day\.tsv$/.test(o.value)).value; m.dispatchEvent(new Event("change")); Object.assign(playground.scenario, { scale: 0.02, racks: 2 }); delete playground.scenario.uplink; delete playground.scenario.nic; document.querySelector("#classes").click(); document.querySelector("#run").click()`)
	v.until("they run", `document.body.dataset.ready === "yes" && player.sides[0].run.jobs.length === 30 && new Set(player.sides[0].run.nodes.map(n => n.class)).size === 2`)
	v.quiet()
}

// servePlayground starts the command and returns where its page is.
func servePlayground(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), millrace, append([]string{"play", "--listen", "127.0.0.1:0"}, flags...)...)
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
