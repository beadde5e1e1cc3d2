package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
	case "true":
		rule = "late"
	case "late", "lag":
	default:
		return o.fault("speculation", fmt.Errorf("%q: write late, lag or false", rule))
	}
	var err error
	cfg.Seconds, err = drive.RuleOf(drive.Named{Name: rule, Params: f.SecondsParams})
	return o.faultIf("speculation_params", err)
}

// checkReport refuses unknown metrics and charts.
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

// chosen reduces a report to what the file asks for.
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
