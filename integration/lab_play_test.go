package integration

import (
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestLabPlayer follows the link of an experiment's report to the player of two of its runs, which at the end shows what the experiment measured,
// and back.
func TestLabPlayer(t *testing.T) {
	t.Parallel()
	v := newViewer(t)
	dir := t.TempDir()
	if out, err := exec.Command(millrace, "lab", "run", "deadline-goals", "--seeds", "1", "--out", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v.open("file://" + filepath.Join(dir, "report.html"))
	v.does("to the player", `[...document.querySelectorAll("a")].find(a => /decision by decision/.test(a.textContent)).click()`)
	v.until("both runs are drawn", `document.body.dataset.ready === "yes" && [...document.querySelectorAll("article.side h2")].map(h => h.innerText).join() === "deadline-min,deadline-max"`)
	v.does("the next decision", `document.querySelector("#next").click()`)
	v.until("it has its reason", `document.querySelector(".decision .why").innerText.length > 5`)
	v.does("to the end", `document.dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true}))`)
	for i, name := range []string{"min", "max"} {
		want := meanCompletion(t, dir, name)
		side := fmt.Sprintf("player.sides[%d].run.numbers(player.end)", i)
		v.until(fmt.Sprintf("%s: four jobs, mean completion %v", name, want), fmt.Sprintf(`%[1]s.finished === 4 && Math.abs(%[1]s.completion / %[2]v - 1) < 0.001`, side, want))
	}
	picture(t, v.ctx, "lab-player")
	v.does("back", `document.querySelector("#origin").click()`)
	v.until("the report again", `location.hash === "#deadline-goals" && document.querySelector("#deadline-goals") !== null`)
	v.quiet()
}

// meanCompletion is that of the four jobs under a policy, in seconds, from the data of the experiment's chart of completion over goal.
func meanCompletion(t *testing.T, dir, policy string) (mean float64) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "figures", "deadline-goals-goals.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for j, goal := range []float64{6000, 3000, 150, 150} {
		over := 0.0
		for _, row := range rows {
			if row[0] == fmt.Sprintf("J%d %s", j+1, policy) {
				over, err = strconv.ParseFloat(row[1], 64)
			}
		}
		if err != nil || over == 0 {
			t.Fatalf("job %d under %s is not in %v: %v", j+1, policy, rows, err)
		}
		mean += over * goal / 4
	}
	return mean
}
