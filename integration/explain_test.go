package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestExplainBrowser opens the page of run --explain, from its file: it steps, plays to its end, names its step in the address,
// and then shows the output of the job.
func TestExplainBrowser(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	dir := t.TempDir()
	in, page, out := filepath.Join(dir, "in"), filepath.Join(dir, "page.html"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte(poem+"</script><b>markup</b> the fox\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(millrace, "run", "wordcount", "--input", in, "--output", out, "--explain", page).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var lines []string
	parts, _ := filepath.Glob(filepath.Join(out, "part-*"))
	for _, p := range parts {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.Replace(strings.TrimSpace(line), "\t", " : ", 1))
		}
	}
	v.open("file://" + page)
	v.until("the first step is shown", `document.getElementById("count").textContent.startsWith("map, step 1 of ")`)
	v.until("nothing else is", `[...document.querySelectorAll(".group")].every(e => getComputedStyle(e).visibility === "hidden")`)
	v.does("one step on", `document.getElementById("next").click()`)
	v.until("a record is read", `document.querySelector(".now.record code").textContent === "the fox and the dog" && location.hash === "#2"`)
	v.does("to the partitioner", `document.getElementById("phase").click()`)
	v.until("keys know their reduce", `document.getElementById("count").textContent.startsWith("partition") && document.querySelectorAll(".pair.placed").length > 0`)
	v.until("every step shows what it is about, and nothing of later ones", `steps.every((s, i) => (show(i, true),
		s.at.every(e => getComputedStyle(e).visibility === "visible") &&
		s.at.some(e => e.getBoundingClientRect().bottom > 0 && e.getBoundingClientRect().top < innerHeight) &&
		[...document.querySelectorAll(".group")].filter(e => getComputedStyle(e).visibility === "visible").length === steps.slice(0, i + 1).filter(s => s.phase === "reduce").length))`)
	v.does("fast", `document.getElementById("speed").value = "200"; document.getElementById("bar").value = steps.length - 4; document.getElementById("bar").dispatchEvent(new Event("input"))`)
	v.does("play", `document.getElementById("play").click()`)
	v.until("it plays to its end", `step === steps.length - 1 && document.getElementById("play").textContent === "play"`)
	v.until("all is shown", `document.querySelectorAll(".later").length === 0`)
	v.until("the output is the job's", `[...document.querySelectorAll(".out .pair")].map(e => e.textContent).join("|") === `+strconv.Quote(strings.Join(lines, "|")))
	v.until("it fits a telephone", `(document.body.style.width = "420px", document.documentElement.scrollWidth <= Math.max(innerWidth, 420))`)
	v.quiet()
}
