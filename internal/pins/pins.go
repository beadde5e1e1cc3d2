//go:build pins

// Package pins keeps the versions of libraries that rooms under construction use.
package pins

import (
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/cockroachdb/pebble/v2"
	_ "github.com/cockroachdb/pebble/v2/vfs/errorfs"
	_ "github.com/goccy/go-yaml"
	_ "github.com/lmittmann/tint"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "go.etcd.io/bbolt"
	_ "golang.org/x/time/rate"
	_ "gonum.org/v1/gonum/stat/distuv"
)
