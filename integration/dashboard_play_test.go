package integration

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestDashboardPlaysBrowser: the dashboard of a cluster plays what its policies decided, with their reasons, to the end of the last job.
func TestDashboardPlaysBrowser(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Racks: 2, Master: pages})
	for _, out := range []string{"dfs:/a", "dfs:/b"} {
		c.Finish(c.Submit(wire.JobSpec{Name: "few"}, "sleep", "--maps", "3", "--map-time", "1ms", "--output", out))
	}
	cmd := exec.Command(millrace, "dashboard", "--master", c.Addr)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "dashboard: ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	v.open(address)
	v.until("the dashboard", `[...document.querySelectorAll("header a")].some(a => a.textContent === "Player")`)
	v.does("to the player", `document.querySelector("header a[href='/play']").click()`)
	v.until("it is drawn", `document.body.dataset.ready === "yes" && document.querySelectorAll("article.side canvas").length === 1`)
	v.does("the next decision", `document.querySelector("#next").click()`)
	v.until("it has its reason", `/decision \d+ of \d+/.test(document.querySelector(".decision").innerText) && document.querySelector(".decision .why").innerText.length > 5`)
	v.does("to the end", `document.dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true}))`)
	v.until("all jobs are done", `document.querySelector('[data-number="finished"]').innerText === "2 of 2"`)
	v.until("two jobs of one name are told apart", `player.moments.filter(m => m.what === "end").map(m => m.text).join() === "few ends,few (2) ends"`)
	v.does("the decision before", `window.before = player.t; document.querySelector("button#back").click(); if (!(player.t < window.before)) throw new Error("it did not go back")`)
	v.does("back", `document.querySelector("#origin").click()`)
	v.until("the dashboard again", `[...document.querySelectorAll("header a")].some(a => a.textContent === "Player")`)
	v.quiet()

	v.open("http://" + c.Addr + "/play")
	v.until("a master itself names the command", `document.querySelector("main").innerText.includes("millrace dashboard --master")`)
	v.quiet()
}
