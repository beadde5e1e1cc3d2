package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/topology"
)

// opticalFile is the optical switch of a topology file. What it leaves out is as published (spec/jobpacker 2.1).
type opticalFile struct {
	Rate      string `yaml:"rate" help:"of a circuit, such as 10Gb/s"`
	Interval  string `yaml:"interval,omitempty" help:"how often circuits are matched anew; 1s where it is left out"`
	Dark      string `yaml:"dark,omitempty" help:"how long the switch carries nothing when they change; 10ms where it is left out"`
	Threshold string `yaml:"threshold,omitempty" help:"bytes of a shuffle between two racks from which it goes by circuit"`
}

// minInterval is the shortest interval in which an emulated switch can be set: setting it takes milliseconds. A circuit
// that stays for longer than maxInterval is no switch's.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

// read parses the switch; key is the one to blame, with a dot before it.
func (f *opticalFile) read(o *topology.OCS) (key string, err error) {
	if o.Rate, err = topology.ParseRate(f.Rate); err != nil {
		return ".rate", err
	}
	switch o.Interval, err = lasts(f.Interval, time.Second); {
	case err == nil && o.Interval < minInterval:
		err = fmt.Errorf("%s: circuits are matched anew at most every %s; published is 1s", o.Interval, minInterval)
	case err == nil && o.Interval > maxInterval:
		err = fmt.Errorf("%s: circuits are matched anew at least every %s; published is 1s", o.Interval, maxInterval)
	}
	if err != nil {
		return ".interval", err
	}
	if o.Reconfig, err = lasts(f.Dark, 10*time.Millisecond); err == nil {
		err = o.Validate()
	}
	if err != nil {
		return ".dark", err
	}
	o.Threshold = int64(float64(o.Rate) * 9 * o.Reconfig.Seconds()) // a circuit is then lit for nine tenths of its time
	if f.Threshold == "" {
		return "", nil
	}
	b, err := human.ParseBytes(f.Threshold)
	o.Threshold = int64(b)
	return ".threshold", err
}

// lasts parses a time; "" means def.
func lasts(s string, def time.Duration) (time.Duration, error) {
	if s == "" {
		return def, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: must be a time such as 10ms or 1s", s)
	}
	return d, nil
}

// errOneRack refuses a switch that has nothing to join.
var errOneRack = errors.New("an optical switch joins racks, and there is one: give two or more (racks: 2), or leave the switch out")
