package integration

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPageWords: what the page says is what a reader sees beside it, also of one job, of a link that is broken, of a run that fails, and on paper.
func TestPageWords(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	at := servePlayground(t)
	v.open(at + "#%7Bbad")
	v.until("a broken link is said", `document.body.dataset.ready === "yes" && /link cannot be read/.test(document.querySelector("#problem").innerText) && document.querySelector("#lectures").value === "convoy"`)
	v.open("about:blank")
	v.open(at + "#5")
	v.until("and one that holds no set-up", `document.body.dataset.ready === "yes" && /link cannot be read/.test(document.querySelector("#problem").innerText)`)
	v.open("about:blank")
	v.open(at + "#lecture=locality")
	v.until("a link may name a lecture", `document.body.dataset.ready === "yes" && document.querySelector("#problem").innerText === "" && document.querySelector("#lectures").value === "locality"`)

	v.does("eleven jobs at once", `playground.scenario = { nodes: 2, racks: 1, containers: 2, jobs: Array.from({ length: 11 }, (_, i) => ({ name: "j" + i, at: 0, maps: 3, map_time: 5 })), policies: [{ policy: "fifo" }, { policy: "fair" }] }; playground.show(); playground.run()`)
	v.until("they run", `document.body.dataset.ready === "yes" && player.sides[0].run.jobs.length === 11`)
	v.does("the first decision", `document.querySelector("#next").click()`)
	v.until("all who waited are counted", `[...document.querySelectorAll(".decision ul")].every(u => { const items = [...u.children].map(e => e.innerText), more = items.map(i => /^and (\d+) more$/.exec(i)).find(Boolean); return more && items.length - 1 + Number(more[1]) === 10 })`)
	v.until("no two numbers are called waiting", `![...document.querySelectorAll("dt, h3")].some(e => /waiting/.test(e.innerText)) && document.querySelectorAll(".queues h3").length === 2`)
	v.does("a convoy, in which fair takes containers back", `playground.lecture("convoy")`)
	v.until("it has run", `document.body.dataset.ready === "yes" && player.sides[1].run.jobs.length !== 11`)
	v.does("tasks to start are those that neither run nor are done, also of those that start again", `const again = player.sides.map(s => s.run).find(r => r.jobs.some((j, i) => r.works[i][0].length > j.maps + j.reduces)); if (!again) throw new Error("nothing starts again");
		for (const { run } of player.sides) run.jobs.forEach((j, i) => { const all = j.maps + j.reduces; if (run.left(i, j.submit - 1) !== all || (j.end >= 0 && run.left(i, j.end) !== 0)) throw new Error(j.name + " " + run.left(i, j.submit - 1) + " " + run.left(i, j.end)) })`)
	v.does("one job is one job", `player.seek(player.sides[0].run.ends[0]); const said = document.querySelector("#difference").innerText; if (/\b1 jobs/.test(said) || many(1, "job") !== "1 job" || many(2, "job") !== "2 jobs") throw new Error(said)`)
	v.does("differences as people say them", `for (const [args, want] of [[[81, 99.1, 1, true], "▲ 18.1 points better"], [[50, 40, 1, true], "▼ 10.0 points worse"], [[1, 587, -1], "▲ 587 times as much, worse"], [[2, 5, -1], "▲ 2.5 times as much, worse"], [[100, 80, -1], "▼ 20 % better"]]) { const got = verdict(...args).textContent; if (got !== want) throw new Error(got + ", not " + want) }`)

	v.does("a run that fails", `playground.scenario.nodes = -1; playground.run()`)
	v.until("the result of the run before is grey, and nobody is told of lines", `document.body.dataset.ready === "failed" && Number(getComputedStyle(document.querySelector("#sides")).opacity) < 0.5 && /^nodes is -1/.test(document.querySelector("#problem").innerText)`)
	v.does("one that does not", `playground.scenario.nodes = 2; playground.run()`)
	v.until("it is not grey", `document.body.dataset.ready === "yes" && getComputedStyle(document.querySelector("#sides")).opacity === "1"`)

	v.does("a lecture", `playground.lecture("narrow-link")`)
	v.until("it runs", `document.body.dataset.ready === "yes" && player.sides[1].run.name === "nas"`)
	v.does("to its end", `player.seek(player.end)`)
	v.until("a share differs in points", `/[\d.]+ points (better|worse)/.test(document.querySelector('[data-against="local"]').innerText)`)
	onPaper := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return err
	})
	if err := chromedp.Do(v.ctx, onPaper); err != nil {
		t.Fatal(err)
	}
	v.until("on paper there is the text and the result, and nothing to press", `[...document.querySelectorAll("button, select, input, textarea")].every(e => e.offsetParent === null && getComputedStyle(e).position !== "fixed") && document.querySelector("#lecture").offsetHeight > 0 && document.querySelector("#sides").offsetHeight > 0`)
	v.quiet()
}
