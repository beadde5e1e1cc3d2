package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

var funcs = template.FuncMap{
	"bytes": human.Bytes, "count": func(n int) string { return human.Count(int64(n)) }, "count64": human.Count,
	"percent": func(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) },
	"ms":      millis, "ns": func(n int64) string { return human.Duration(time.Duration(n)) },
	"params": params, "share": share, "when": when, "filesURL": filesURL, "stored": stored, "logURL": logURL, "short": short,
	"chart": func(c chart.Chart) template.HTML { return template.HTML(chart.Inline(c)) }, //nolint:gosec // chart escapes every text
	"has":   strings.HasPrefix,
}

func millis(n int64) string { return human.Duration(time.Duration(n) * time.Millisecond) }

// when formats a time given in milliseconds since 1970.
func when(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05")
}

// params returns a policy's parameters in one line.
func params(c wire.Choice) string {
	_, list, _ := strings.Cut(c.String(), " ")
	return list
}

// share returns how much of some tasks is done, counting running ones by their progress.
func share(t wire.TaskTotals) float64 {
	if t.Total == 0 {
		return 0
	}
	return min(1, (float64(t.Done)+t.Progress)/float64(t.Total))
}

// stored reports whether a job's output is in the block store.
func stored(path string) bool {
	return strings.HasPrefix(path, "dfs:/") || strings.HasPrefix(path, "/")
}

// filesURL returns the address of the page of a file or directory.
func filesURL(path string) template.URL {
	u := url.URL{Path: "/files/" + strings.TrimLeft(strings.TrimPrefix(path, "dfs:"), "/")}
	return template.URL(u.String()) //nolint:gosec // url escapes it
}

// logURL returns the address of the page of what an attempt printed.
func logURL(job wire.JobID, a wire.PastAttempt) template.URL {
	q := url.Values{"stage": {fmt.Sprint(a.Stage)}, "task": {string(a.Task)}, "index": {fmt.Sprint(a.Index)}, "try": {fmt.Sprint(a.Try)}}
	return template.URL("/jobs/" + url.PathEscape(string(job)) + "/log?" + q.Encode()) //nolint:gosec // url escapes it
}

// short cuts a text to about a line.
func short(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + " ..."
	}
	return s
}
