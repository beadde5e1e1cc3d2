// Package metrics shows numbers to Prometheus. A daemon says once which families it has, and on each scrape puts the values:
//
//	e := metrics.New(families, func(ctx context.Context, put metrics.Put) error {
//		put("millrace_nodes", 3, "up")
//		return nil
//	})
//	e.ServeHTTP(w, r)
//
// Beside them stand the numbers of the Go runtime and of the process. A scrape whose values cannot be had is an error as a whole:
// half of them would look like a cluster that has shrunk.
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
	// Counter says that values only grow, until the process is started again.
	Counter bool
}

// Put gives a value; labels are in the order of the family's. A name that is no family, or a wrong number of labels, is a
// mistake in the program and panics.
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

// New returns an exporter of these families. Collect is called for each scrape, also for several at once.
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

// patience bounds a scrape: a scraper waits ten seconds.
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

// values are those of one scrape.
type values []prometheus.Metric

// Describe implements prometheus.Collector: nothing, since what is there changes.
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
