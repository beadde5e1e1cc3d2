// Package metrics exports numbers to Prometheus. A daemon declares its families once, and sets the values on each
// scrape:
//
//	e := metrics.New(families, func(ctx context.Context, put metrics.Put) error {
//		put("millrace_nodes", 3, "up")
//		return nil
//	})
//	e.ServeHTTP(w, r)
//
// They are joined by the numbers of the Go runtime and of the process. If not all values are available, the whole
// scrape fails: half of them would look like a cluster that has shrunk.
package metrics

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Family is one metric, with a value for each combination of its labels.
type Family struct {
	Name, Help string
	Labels     []string
	// Counter says that values only grow until the process is restarted.
	Counter bool
}

// Put sets a value; labels are in the order of the family's. An unknown name or a wrong number of labels is a bug
// and panics.
type Put func(name string, value float64, labels ...string)

// An Exporter answers scrapes.
type Exporter struct {
	families map[string]family
	collect  func(ctx context.Context, put Put) error
	always   []prometheus.Collector
}

type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// New returns an exporter of these families. It calls collect for each scrape, possibly concurrently.
func New(families []Family, collect func(ctx context.Context, put Put) error) *Exporter {
	e := &Exporter{
		families: map[string]family{}, collect: collect,
		always: []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})},
	}
	for _, f := range families {
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		e.families[f.Name] = family{prometheus.NewDesc(f.Name, f.Help, f.Labels, nil), kind}
	}
	return e
}

// patience bounds a scrape. Scrapers wait ten seconds.
const patience = 5 * time.Second

// ServeHTTP answers a scrape.
func (e *Exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	var got values
	err := e.collect(ctx, func(name string, value float64, labels ...string) {
		f, ok := e.families[name]
		if !ok {
			panic(fmt.Sprintf("metrics: %s is no family", name))
		}
		got = append(got, prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...))
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(e.always...)
	reg.MustRegister(got)
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// values are the values of one scrape.
type values []prometheus.Metric

// Describe implements prometheus.Collector. It describes nothing, since the values change.
func (values) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (v values) Collect(ch chan<- prometheus.Metric) {
	for _, m := range v {
		ch <- m
	}
}

// Health answers whether a daemon is well: 200, or 503 with the reason.
func Health(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
