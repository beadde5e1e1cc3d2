package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// applySeconds chooses the rule of second attempts.
func (o *simOptions) applySeconds(cfg *sim.Config) error {
	f := &o.more
	rule := ""
	setIf(f.Seconds, &rule, false)
	switch rule {
	case "":
		if f.SecondsParams != nil && !o.noSecond {
			return o.fault("speculation_params", errors.New("name the rule: speculation: late, or lag"))
		}
		return nil
	case "false":
		cfg.Seconds = nil
		return nil
	case "late", "true":
		l := drive.DefaultLATE()
		err := setNamed(f.SecondsParams, map[string]any{"after": &l.After, "slower": &l.Slower, "share": &l.Share})
		cfg.Seconds = l
		return o.faultIf("speculation_params", cmpErr(err, l.Validate()))
	case "lag":
		l := drive.DefaultLag()
		err := setNamed(f.SecondsParams, map[string]any{"after": &l.After, "behind": &l.Behind, "cap": &l.Cap})
		cfg.Seconds = l
		return o.faultIf("speculation_params", cmpErr(err, l.Validate()))
	}
	return o.fault("speculation", fmt.Errorf("%q: write late, lag or false", rule))
}

// setNamed sets times and numbers by name.
func setNamed(values map[string]string, into map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var err error
		switch to := into[name].(type) {
		case *time.Duration:
			if *to, err = time.ParseDuration(values[name]); err != nil {
				return fmt.Errorf("%s is %q: write a time, such as 2s", name, values[name])
			}
		case *float64:
			if *to, err = strconv.ParseFloat(values[name], 64); err != nil || *to != *to {
				return fmt.Errorf("%s is %q: write a number, such as 0.1", name, values[name])
			}
		default:
			return suggest.Unknown("parameter", name, slices.Sorted(maps.Keys(into)))
		}
	}
	return nil
}

// checkReport refuses metrics and charts that there are none of.
func (o *simOptions) checkReport(*sim.Config) error {
	r := o.more.Report
	if r == nil {
		return nil
	}
	for i, m := range r.Metrics {
		if !slices.Contains(compare.MetricNames(), m) {
			return o.fault(fmt.Sprintf("report.metrics[%d]", i), suggest.Unknown("metric", m, compare.MetricNames()))
		}
	}
	for i, c := range r.Charts {
		if !slices.Contains(compare.ChartNames, c) {
			return o.fault(fmt.Sprintf("report.charts[%d]", i), suggest.Unknown("chart", c, compare.ChartNames))
		}
	}
	return nil
}

// chosen leaves in a report what the file wants to see.
func (o *simOptions) chosen(r lab.Report) lab.Report {
	want := o.more.Report
	if want == nil {
		return r
	}
	if want.Metrics != nil {
		r.Tables = slices.Clone(r.Tables)
		r.Tables[0].Rows = slices.DeleteFunc(slices.Clone(r.Tables[0].Rows), func(row []string) bool { return !slices.Contains(want.Metrics, row[0]) })
	}
	if want.Charts != nil {
		r.Figures = slices.DeleteFunc(slices.Clone(r.Figures), func(f lab.Figure) bool {
			kind, _, _ := strings.Cut(f.Name, "-")
			return !slices.Contains(want.Charts, kind)
		})
	}
	return r
}
