package chart

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

var nan = math.NaN()

// examples has a chart of each kind, with values that cannot be shown among the others.
var examples = map[string]Chart{
	"lines": Lines{
		Frame:  Frame{Title: "Slots over time", X: Axis{Label: "time, s"}, Y: Axis{Label: "slots"}},
		Series: []Series{{"J1", []float64{0, 1, 2, 3, 4}, []float64{1, 4, nan, 2, 6}}, {"J2", []float64{0, 2, 4}, []float64{0, 3, 3}}},
		Marks:  []Mark{{"goal", 3.5, true}, {"all", 6, false}},
	},
	"ranges": Lines{
		Frame:  Frame{Title: "Mean completion against load", X: Axis{Label: "load"}, Y: Axis{Label: "mean completion, s"}},
		Series: []Series{{"fifo", []float64{0.2, 0.6, 1}, []float64{10, 14, 30}}, {"fair", []float64{0.2, 0.6, 1}, []float64{10, 12, nan}}},
		Ranges: [][]Interval{{{9, 11}, {-90, 118}, {25, 35}}, {{nan, nan}, {11, 13}, {nan, nan}}},
	},
	"steps": Lines{Frame: Frame{Title: "Steps"}, Steps: true, Series: []Series{{"only", []float64{0, 5, 9}, []float64{10, 30, 20}}}},
	"cdf": CDF{
		Frame:   Frame{Title: "Slowdown", X: Axis{Label: "slowdown", Log: true}},
		Samples: []Sample{{"fifo", []float64{1, 2, 4, 8, math.Inf(1), -3}}, {"fbq", []float64{1, 1.5, 2, 2}}},
	},
	"scatter": Scatter{
		Frame:  Frame{Title: "Slowdown against size", X: Axis{Label: "size, s", Log: true}, Y: Axis{Label: "slowdown", Log: true}},
		Groups: []Series{{"a", []float64{10, 100, 1000, 0}, []float64{1, 20, 3, 1}}, {"b", []float64{30, 30000}, []float64{2, 5}}},
		Titles: [][]string{nil, {"job <1>", "job & 2"}},
	},
	"area": Area{
		Frame: Frame{Title: "Queue usage", X: Axis{Label: "time, s"}, Y: Axis{Label: "slots"}},
		At:    []float64{0, 10, 20, 30}, Series: []Layer{{"q1", []float64{1, 2, 2, 0}}, {"q2", []float64{0, 3, nan, 1}}, {"idle", nil}},
		Marks: []Mark{{"all", 6, false}},
	},
	"gantt": Gantt{
		Frame: Frame{Title: "Tasks by node", X: Axis{Label: "time, s"}}, Rows: []string{"n1", "n2"}, Groups: []string{"map", "reduce"},
		Spans: []Span{{0, 0, 4, 0, "j1 map 0"}, {1, 1, 6, 1, "j1 reduce 0"}, {0, 4, nan, 0, "never"}, {7, 1, 2, 0, "no row"}},
		Marks: []Mark{{"maps done", 4, true}},
	},
	"bars": Bars{
		Frame: Frame{Title: "Gain over PRJ, %", X: Axis{Label: "%"}}, Groups: []string{"measured", "other"},
		Bars: []Bar{{"CBT", 13, 11, 15, 10.9, 0}, {"CBTwS", -4, nan, nan, nan, 1}, Plain("none", nan)},
	},
	"strip": Strip{
		Frame:    Frame{Title: "NAS over Fair", X: Axis{Label: "throughput over Fair"}},
		Readings: []Bar{{"as judged", 1.36, 1.2, 1.5, nan, 0}, Plain("sizes x1", 0.93), Plain("never ends", nan)}, Published: 1.58, None: 1, Judged: 1,
	},
	"heat": Heat{
		Frame: Frame{Title: "Traffic between racks"}, Rows: []string{"rack 1", "rack 2"}, Columns: []string{"rack 1", "rack 2", "rack 3"},
		Values: [][]float64{{0, 5, 2}, {nan, 1}}, Unit: " GB",
	},
	// What stands at the edges, or has no room.
	"names-beside-curves": CDF{
		Frame:   Frame{Title: "Completion", Width: 480, X: Axis{Label: "s"}},
		Samples: []Sample{{"first in, first out", []float64{1, 2, 3}}, {"fair", []float64{1, 3, 9}}, {"none", nil}, {"by deadline", []float64{5, 9, 10}}, {"by size, largest first", []float64{8, 9, 10}}},
		Marks:   []Mark{{"at once", 0, true}, {"the last of all", 10, true}, {"half", 0.5, false}},
	},
	"names-in-legend": Lines{
		Frame:  Frame{Title: "Nine curves", Width: 400, Height: 260, X: Axis{Label: "s", Min: 1, Max: 3}, Y: Axis{Label: "jobs", Log: true}},
		Series: nineCurves(), Steps: true, Marks: []Mark{{"goal of all", 3, true}, {"none", -1, false}},
	},
	"curves-that-end-early": Lines{
		Frame:  Frame{Title: "Work left", X: Axis{Label: "s"}, Y: Axis{Label: "tasks"}},
		Series: []Series{{"a", []float64{0, 1, 2}, []float64{50, 60, 61}}, {"b", []float64{0, 1, 2, 9}, []float64{55, 58, 60, 60.5}}, {"c", []float64{0, 9, 10}, []float64{59, 60, nan}}, {"d", []float64{0, 10}, []float64{70, 60}}},
	},
	"strip-at-edges": Strip{
		Frame:    Frame{Title: "Readings", Width: 420, X: Axis{Label: "gain, %", Log: true}},
		Readings: []Bar{{"one", 10, -1, 40, nan, 0}, {"a reading with a name that is too long for the room that it has", 100, 20, 200, nan, 0}}, Published: 10, Said: "published as ten per cent", None: 100, Judged: 2,
	},
	"strip-on-one-side": Strip{Frame: Frame{Title: "Readings"}, Readings: []Bar{Plain("a", -2), Plain("b", -1.5)}, Published: -2, Said: "said to be two below nothing", None: -1.99},
	"bars-on-a-log-axis": Bars{
		Frame: Frame{Title: "Times", Width: 360, X: Axis{Label: "s", Log: true}}, Groups: []string{"measured here", "measured elsewhere", "simulated", "by hand"}, Reference: "paper",
		Bars: []Bar{{"a", 2, 1, 9, 3, 0}, {"b", 2000, 0, 9000, nan, 1}, {"c", 5, nan, 9, 20000, 2}, {"d", 0, nan, nan, 30, 3}},
	},
	"bars-below-zero":   Bars{Frame: Frame{Title: "Gain"}, Bars: []Bar{{"a", -3, -5, -1, -2, 0}, {"b", -1, -2, 0, nan, 0}}},
	"gantt-of-many":     Gantt{Frame: Frame{Title: "Nodes", X: Axis{Label: "s"}}, Rows: make([]string, 60), Groups: []string{"map"}, Spans: []Span{{0, 0, 10, 0, "a"}, {59, 2, 2, 5, "b"}, {-1, 0, 99, 0, "c"}, {60, 0, 99, 0, "d"}}},
	"heat-of-many":      Heat{Frame: Frame{Title: "Traffic", Width: 300}, Rows: make([]string, 50), Columns: []string{"rack one", "rack two", "rack three", "rack four", "rack five", "rack six"}, Values: [][]float64{{-1, 1, 3, 2, 0, nan}}},
	"areas-with-gaps":   Area{Frame: Frame{Title: "Use"}, At: []float64{0, 1, nan, 3, 4}, Series: []Layer{{"a", []float64{1, -5, 2, 2, 1}}, {"b", []float64{0, 0, 1, 1, 3}}, {"c", []float64{0, 0, 0, 0, 0}}}, Marks: []Mark{{"noon", 5, true}}},
	"wide-and-narrow-x": Scatter{Frame: Frame{Title: "Points", X: Axis{Label: "x", Log: true}, Y: Axis{Label: "y (log)", Log: true}}, Groups: []Series{{"a", []float64{1, 1, 2, 2.004, 40}, []float64{3, 3, 1e9, 1e9, 2}}}},

	"empty": Lines{Frame: Frame{Title: "Nothing"}, Series: []Series{{"none", []float64{nan}, []float64{1}}}},
}

func nineCurves() (out []Series) {
	for k := range 9 {
		i := float64(k)
		out = append(out, Series{fmt.Sprint("of class ", k), []float64{0, 1, 2, 2, 3, 4}, []float64{1, 1 + i, nan, 10 + i, 100, 100 + i}})
	}
	return out
}

var places = regexp.MustCompile(` (x|x1|x2|cx|y|y1|y2|cy)="([^"]*)"`)

// nothingOutside wants all that is drawn to have its place inside the picture.
func nothingOutside(t *testing.T, name, svg string, f Frame) {
	t.Helper()
	for _, m := range places.FindAllStringSubmatch(svg, -1) {
		most := float64(f.Width)
		if strings.Contains(m[1], "y") {
			most = float64(f.Height)
		}
		if v, err := strconv.ParseFloat(m[2], 64); err != nil || v < 0 || v > most {
			t.Errorf("%s: %s is %s, of %g", name, m[1], m[2], most)
		}
	}
}

// TestAxes: the numbers on an axis are round, lie between its ends and are neither too few nor too many; of a short logarithmic axis more are written.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		log       bool
		want      string
	}{
		{0, 10, false, "0 2 4 6 8 10"},
		{-1, 1, false, "-1 -0.5 0 0.5 1"},
		{0.1, 0.9, false, "0.2 0.4 0.6 0.8"},
		{3, 3, false, "2.6 2.8 3 3.2 3.4"},
		{1e6, 1e6, false, "990k 995k 1M 1.005M 1.01M"},
		{0, 99, false, "0 20 40 60 80"},
		{0, 100, false, "0 20 40 60 80 100"},
		{-7, -2, false, "-7 -6 -5 -4 -3 -2"},
		{1, 2, true, "1 1.2 1.5 2"},
		{1, 10, true, "1 1.5 2 3 5 7 10"},
		{1, 50, true, "1 2 5 10 20 50"},
		{1, 100, true, "1 10 100"},
		{1, 1e6, true, "1 10 100 1000 10k 100k 1M"},
		{1, 1e9, true, "1 100 10k 1M 100M"},
		{0.02, 0.3, true, "0.02 0.03 0.05 0.07 0.1 0.15 0.2 0.3"},
		{20, 30, true, "20 25 30"},
		{5, 5, true, "2 3 5 7 10 15"},
	} {
		a := newAxis(Axis{Log: c.log}, span{c.low, c.high}, 0, 100)
		var got []string
		for _, v := range a.ticks(5) {
			if got = append(got, Number(v)); !a.inside(v) || !a.shows(v) {
				t.Errorf("%g to %g: %g is outside", c.low, c.high, v)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%g to %g: %q, want %q", c.low, c.high, got, c.want)
		}
	}
	a := newAxis(Axis{}, span{0, 10}, 100, 0)
	for v, want := range map[float64]float64{-5: 100, 0: 100, 2.5: 75, 10: 0, 20: 0} {
		if at := a.at(v); at != want || a.inside(v) != (v >= 0 && v <= 10) {
			t.Errorf("%g is at %g, want %g; inside: %v", v, at, want, a.inside(v))
		}
	}
	for _, c := range []struct {
		given     Axis
		low, high float64
	}{{Axis{Min: 2, Max: 5}, 2, 5}, {Axis{Min: 5, Max: 5}, 1, 9}, {Axis{Min: 10, Max: 1000, Log: true}, 1, 3}, {Axis{Min: 0, Max: 1000, Log: true}, 0, math.Log10(9)}} {
		if got := newAxis(c.given, span{1, 9}, 0, 1); math.Abs(got.low-c.low) > 1e-12 || math.Abs(got.high-c.high) > 1e-12 {
			t.Errorf("%+v: from %g to %g, want %g to %g", c.given, got.low, got.high, c.low, c.high)
		}
	}
	for step, want := range map[float64]float64{-1: 1, 0: 1, 1: 1, 1.1: 2, 2: 2, 3: 5, 5: 5, 7: 10, 20: 20, 0.03: 0.05, 0.6: 1, math.Inf(1): 1} {
		if got := niceStep(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("the next round step from %g is %g, want %g", step, got, want)
		}
	}
}

// TestCDFIsTheShare: of however many values, each point of the curve says which share of them is no larger.
func TestCDFIsTheShare(t *testing.T) {
	for _, n := range []int{1, 2, cdfPoints - 1, cdfPoints, cdfPoints + 1, 1000} {
		var values []float64
		for i := range n {
			values = append(values, float64((i*7919)%n+1)) // 1 to n, in disorder
		}
		s := CDF{Samples: []Sample{{"a", values}}}.lines().Series[0]
		if len(s.X) != min(n, cdfPoints) || s.X[len(s.X)-1] != float64(n) {
			t.Errorf("%d values: %d points, the last of %g", n, len(s.X), s.X[len(s.X)-1])
		}
		for i, x := range s.X {
			if s.Y[i] != x/float64(n) {
				t.Errorf("of %d values %g are no larger than %g", n, s.Y[i]*float64(n), x)
			}
		}
	}
}

func TestGolden(t *testing.T) {
	for name, c := range examples {
		path := filepath.Join("testdata", name+".svg")
		got := File(c)
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		wellFormed(t, got)
		nothingOutside(t, name, got, c.frame())
	}
}

func TestTables(t *testing.T) {
	want := map[string]string{
		"lines":   "series,time, s,slots|J1,0,1|J1,1,4|J1,2,|J1,3,2|J1,4,6|J2,0,0|J2,2,3|J2,4,3",
		"cdf":     "series,slowdown,share|fifo,1,0.25|fifo,2,0.5|fifo,4,0.75|fifo,8,1|fbq,1,0.25|fbq,1.5,0.5|fbq,2,0.75|fbq,2,1",
		"area":    "time, s,q1,q2,idle|0,1,0,0|10,2,3,0|20,2,0,0|30,0,1,0",
		"gantt":   "row,from,to,group,title|n1,0,4,map,j1 map 0|n2,1,6,reduce,j1 reduce 0|n1,4,,map,never",
		"bars":    "label,value,low,high,published|CBT,13,11,15,10.9|CBTwS,-4,,,|none,,,,",
		"strip":   "reading,value,low,high,published|as judged,1.36,1.2,1.5,1.58|sizes x1,0.93,,,1.58|never ends,,,,1.58",
		"heat":    ",rack 1,rack 2,rack 3|rack 1,0,5,2|rack 2,,1,",
		"scatter": "series,size, s,slowdown|a,10,1|a,100,20|a,1000,3|a,0,1|b,30,2|b,30000,5",
	}
	for name, w := range want {
		var rows []string
		for _, r := range Table(examples[name]) {
			rows = append(rows, strings.Join(r, ","))
		}
		if got := strings.Join(rows, "|"); got != w {
			t.Errorf("%s: table\n%s\nwant\n%s", name, got, w)
		}
	}
}

// Any data make well-formed SVG, the same twice, without a number that is none.
func TestAnyDataCanBeDrawn(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-10, 1000), rapid.SampledFrom([]float64{nan, math.Inf(1), math.Inf(-1), 0, 5e-324, math.MaxFloat64}))
	values := rapid.SliceOfN(value, 0, 12)
	text := rapid.SampledFrom([]string{"", "a", "<script>", `"quoted" & more`})
	rapid.Check(t, func(t *rapid.T) {
		f := Frame{Title: text.Draw(t, "title"), X: Axis{Log: rapid.Bool().Draw(t, "logx")}, Y: Axis{Log: rapid.Bool().Draw(t, "logy"), Label: text.Draw(t, "label")}}
		x, y := values.Draw(t, "x"), values.Draw(t, "y")
		s := []Series{{text.Draw(t, "name"), x, y}, {"b", y, x}}
		rows := []string{"r", text.Draw(t, "row")}
		var spans []Span
		var bars []Bar
		var ranges []Interval
		for i := range min(len(x), len(y)) {
			spans = append(spans, Span{i % 3, x[i], y[i], i, text.Draw(t, "span")})
			bars = append(bars, Bar{"b", x[i], y[i], x[i], y[i], i})
			ranges = append(ranges, Interval{x[i], y[i]})
		}
		marks := []Mark{{"m", value.Draw(t, "mark"), true}, {"n", value.Draw(t, "mark"), false}}
		for _, c := range []Chart{
			Lines{f, s, nil, false, marks},
			Lines{f, s, [][]Interval{ranges, ranges}, true, nil},
			CDF{f, []Sample{{"a", x}}, marks},
			Scatter{f, s, nil, marks},
			Area{f, x, []Layer{{"a", y}, {"b", x}}, marks},
			Gantt{f, rows, []string{"g", "h"}, spans, marks},
			Bars{f, bars, nil, ""},
			Strip{f, bars, value.Draw(t, "published"), text.Draw(t, "said"), value.Draw(t, "none"), len(bars)},
			Heat{f, rows, []string{"c", "d"}, [][]float64{x, y}, ""},
		} {
			a := Inline(c)
			if a != Inline(c) {
				t.Fatalf("%T: not the same twice", c)
			}
			for _, bad := range []string{"NaN", "Inf", "<script"} {
				if strings.Contains(a, bad) {
					t.Fatalf("%T holds %s:\n%s", c, bad, a)
				}
			}
			wellFormed(t, a)
			Table(c)
		}
	})
}

// TestTablesOfCellsHaveNoScale: of a heat map no axis is logarithmic, whatever its frame says.
func TestTablesOfCellsHaveNoScale(t *testing.T) {
	h := Heat{Rows: []string{"a"}, Columns: []string{"b", "c"}, Values: [][]float64{{1, 2}}}
	h.X.Label = "to"
	want := Inline(h)
	if h.X.Log = true; Inline(h) != want {
		t.Errorf("it is drawn as %s", Inline(h))
	}
}

func wellFormed(t interface{ Errorf(string, ...any) }, svg string) {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Errorf("not well-formed: %v\n%s", err, svg)
			return
		}
	}
}

func TestManySpansBecomePaths(t *testing.T) {
	g := Gantt{Rows: []string{"n"}, Groups: []string{"map"}}
	for i := range spanTitles + 1 {
		g.Spans = append(g.Spans, Span{0, float64(i), float64(i + 1), 0, "t"})
	}
	many := Inline(g)
	if strings.Count(many, "<rect") != 0 || strings.Count(many, "<path") != 1 {
		t.Error("many spans are not one path")
	}
	g.Spans = g.Spans[1:]
	g.X.Min, g.X.Max = 0, spanTitles+1
	few := Inline(g)
	rects := regexp.MustCompile(`<rect class="span f0" x="([0-9.]+)" y="([0-9.]+)" width="[0-9.]+" height="([0-9.]+)"`).FindAllStringSubmatch(few, -1)
	strokes := regexp.MustCompile(`M([0-9.]+) ([0-9.]+)h`).FindAllStringSubmatch(many, -1)[1:]
	if len(rects) != spanTitles || len(strokes) != spanTitles {
		t.Fatalf("%d bars, %d strokes", len(rects), len(strokes))
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i, r := range rects { // a stroke runs along the middle of its bar
		if mid := number(r[2]) + number(r[3])/2; r[1] != strokes[i][1] || math.Abs(mid-number(strokes[i][2])) > 0.2 {
			t.Fatalf("bar %d begins at %s %g, as a stroke at %s %s", i, r[1], mid, strokes[i][1], strokes[i][2])
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 1500: "1500", 12000: "12k", 3.5e6: "3.5M", -2e9: "-2G", 0.000012: "1.2e-05", 1e6: "1M", 9999: "9999", 1e4: "10k", -12345: "-12.35k", 1e9: "1G", 1e12: "1T", 2e15: "2P", 0.0001: "0.0001", 1e300: "1e+285P"} {
		if got := Number(v); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}

func ExampleInline() {
	svg := Inline(Bars{Frame: Frame{Title: "Makespan"}, Bars: []Bar{Plain("fifo", 12)}})
	fmt.Println(strings.HasPrefix(svg, `<svg class="chart"`), strings.Contains(svg, "<title>fifo: 12</title>"))
	// Output: true true
}

// TestWideIntervals: intervals of two runs do not squeeze the bars, and one that leaves the chart has an arrow there.
func TestWideIntervals(t *testing.T) {
	b := Bars{Bars: []Bar{{Label: "a", Value: 3, Low: -66, High: 136, Published: 2}, {Label: "b", Value: 2, Low: 1, High: 4, Published: 1}}}
	if x, _ := b.extent(); x != (span{0, 9}) {
		t.Errorf("from %v to %v", x.low, x.high)
	}
	marks := func(b Bars) int { return strings.Count(Inline(b), `class="whisker"`) }
	if n := marks(b); n != 1+2*2+3 {
		t.Errorf("%d lines for an interval with two arrows and one with two ends", n)
	}
	b.X.Log = true
	if n := marks(b); n != 1+2*2+3 {
		t.Errorf("%d lines on a logarithmic axis", n)
	}
	b = Bars{Bars: []Bar{{Label: "a", Value: -3, Low: -4, High: -2, Published: 2}}}
	if x, _ := b.extent(); x != (span{-4, 2}) || marks(b) != 3 {
		t.Errorf("from %v to %v, %d lines", x.low, x.high, marks(b))
	}
}

// TestShare: what is alike has the same ends, what is not keeps its own.
func TestShare(t *testing.T) {
	at := func(label string, v float64) Strip {
		return Strip{Frame: Frame{X: Axis{Label: label}}, Readings: []Bar{Plain("a", 1), Plain("b", v)}, Published: nan, None: nan}
	}
	list := []Chart{at("s", 2), at("s", 6), at("%", 3), Heat{}}
	Share(list)
	a, b, other := list[0].frame().X, list[1].frame().X, list[2].frame().X
	if a != b || !(a.Min < 1 && a.Max > 6) || other.Max >= a.Max {
		t.Errorf("ends %v, %v and %v", a, b, other)
	}
	kept := Axis{Label: "s", Min: 0, Max: 100}
	list = []Chart{Lines{Frame: Frame{Y: kept}, Series: []Series{{"x", []float64{1, 2}, []float64{3, 4}}}}, Lines{Frame: Frame{Y: kept}, Series: []Series{{"x", []float64{1, 9}, []float64{3, 4}}}}}
	Share(list)
	if f := list[0].frame(); f.Y != kept || f.X.Max != 9 {
		t.Errorf("axes %v and %v", f.X, f.Y)
	}
}

// The name of a bar begins inside the chart: a longer one ends in three dots, and the tip has it whole.
func TestNamesOfBarsAreNotCut(t *testing.T) {
	names := regexp.MustCompile(`<text class="name" x="([0-9.]+)"[^>]*>([^<]+)<`)
	for letters, short := range map[int]bool{10: false, 45: false, 120: true} {
		name := strings.Repeat("o", letters)
		for kind, c := range map[string]Chart{"bars": Bars{Bars: []Bar{Plain(name, 1)}}, "strip": Strip{Readings: []Bar{Plain(name, 1)}, Published: nan, None: nan}} {
			svg := Inline(c)
			found := names.FindStringSubmatch(svg)
			x, err := strconv.ParseFloat(found[1], 64)
			if err != nil || x < float64(textWidth(found[2])) || strings.HasSuffix(found[2], "…") != short || !strings.Contains(svg, name+": 1") {
				t.Errorf("%s: a name of %d letters ends at %g as %q (%v)", kind, letters, x, found[2], err)
			}
		}
	}
}

// A value beside a bar ends inside the chart, however many letters it has.
func TestValuesBesideBarsAreWhole(t *testing.T) {
	values := regexp.MustCompile(`<text class="value" x="([0-9.]+)"[^>]*>([^<]+)<`)
	for _, v := range []float64{1.5, 26663, 0.0712, 0.000123456, -0.000123456, -1.23e-7, 1.234e-123} {
		bars := []Bar{Plain("a", v), Plain("b", v/2)}
		for kind, c := range map[string]Chart{"bars": Bars{Bars: bars}, "strip": Strip{Readings: bars, Published: nan, None: nan}} {
			found := values.FindAllStringSubmatch(Inline(c), -1)
			if len(found) != 2 {
				t.Fatalf("%s of %g has %d values", kind, v, len(found))
			}
			for _, m := range found {
				if x, err := strconv.ParseFloat(m[1], 64); err != nil || x+float64(textWidth(m[2])) > defaultWidth {
					t.Errorf("%s: %q begins at %g and is cut at %d (%v)", kind, m[2], x, defaultWidth, err)
				}
			}
		}
	}
}

// TestNothingIsNotBelowZero: the axis of a chart of nothing but zeroes begins at 0.
func TestNothingIsNotBelowZero(t *testing.T) {
	at := []float64{0, 1, 2}
	for name, c := range map[string]Chart{
		"area": Area{At: at, Series: []Layer{{Name: "idle", Values: make([]float64, 3)}}}, "lines": Lines{Series: []Series{{Name: "idle", X: at, Y: make([]float64, 3)}}},
	} {
		if svg := Inline(c); strings.Contains(svg, ">-") || !strings.Contains(svg, ">1</text>") {
			t.Errorf("%s:\n%s", name, svg)
		}
	}
}

// TestPartsOfCharts: a bar is put into a group and beside a published value without changing the bar it was made of; a curve has a value at
// each of its places.
func TestPartsOfCharts(t *testing.T) {
	plain := Plain("b", 3)
	both := plain.In(2).Beside(4)
	if plain.Group != 0 || !math.IsNaN(plain.Published) || !math.IsNaN(plain.Low) || !math.IsNaN(plain.High) {
		t.Errorf("%+v", plain)
	}
	if both.Group != 2 || both.Published != 4 || both.Label != "b" || both.Value != 3 {
		t.Errorf("%+v", both)
	}
	got := Curve("square", []float64{1, 2, 3}, func(x float64) float64 { return x * x })
	if diff := cmp.Diff(Series{"square", []float64{1, 2, 3}, []float64{1, 4, 9}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFramesOfEachKind: every chart can be given another frame, and keeps all else; rows and curves and shares do not mix.
func TestFramesOfEachKind(t *testing.T) {
	other := Frame{Title: "other", X: Axis{Min: 1, Max: 2}}
	kinds := map[string]string{}
	for name, c := range examples {
		kinds[name] = kindOf(c)
		f, ok := c.(framed)
		if !ok {
			continue
		}
		if got := f.in(other); !strings.HasPrefix(fmt.Sprintf("%T", got), "chart.") || got.(framed).in(f.frame()) == nil || kindOf(got) != kindOf(c) {
			t.Errorf("%s became %T", name, got)
		}
	}
	for _, c := range []Chart{Lines{}, Area{}} {
		if kindOf(c) != "curves" {
			t.Errorf("%T is of kind %q", c, kindOf(c))
		}
	}
	for _, c := range []Chart{Bars{}, Strip{}} {
		if kindOf(c) != "rows" {
			t.Errorf("%T is of kind %q", c, kindOf(c))
		}
	}
	if kindOf(CDF{}) != "shares" {
		t.Errorf("shares are %q", kindOf(CDF{}))
	}
}
