package cli

import (
	"fmt"

	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/topology"
)

// topologyFile says how fast links are:
//
//	nic: 1Gb/s
//	uplink: 200Mb/s
//	racks:
//	  r1: {uplink: 100Mb/s, downlink: 400Mb/s}
//	optical: {rate: 1Gb/s, interval: 1s, dark: 10ms, threshold: 12MB}
type topologyFile struct {
	NIC     string              `yaml:"nic,omitempty"`
	Uplink  string              `yaml:"uplink,omitempty"`
	Racks   map[string]rackFile `yaml:"racks,omitempty"`
	Optical *opticalFile        `yaml:"optical,omitempty"`
}

type rackFile struct {
	Uplink   string `yaml:"uplink,omitempty"`
	Downlink string `yaml:"downlink,omitempty"`
}

// readLinks reads a topology file; without a name the links are unknown.
func readLinks(name string) (l topology.Links, err error) {
	if name == "" {
		return l, nil
	}
	data, err := readBounded(name)
	if err != nil {
		return l, err
	}
	var f topologyFile
	if err := decodeYAML(name, data, &f); err != nil {
		return l, err
	}
	return f.links(name, "", data)
}

// links returns the rates of a file; before is the prefix of their keys in it.
func (f *topologyFile) links(name, before string, data []byte) (l topology.Links, err error) {
	bad := func(key string, perr error) {
		if err == nil && perr != nil {
			err = fmt.Errorf("%s:%d: %s: %w", name, lineOf(data, "$."+before+key), before+key, perr)
		}
	}
	rate := func(key, s string) topology.Rate {
		if s == "" {
			return 0
		}
		r, perr := topology.ParseRate(s)
		bad(key, perr)
		return r
	}
	l = topology.Links{NIC: rate("nic", f.NIC), Uplink: rate("uplink", f.Uplink), Racks: map[string]topology.Rack{}}
	for rack, r := range f.Racks {
		at := topology.Rack{Uplink: rate("racks."+rack+".uplink", r.Uplink), Downlink: rate("racks."+rack+".downlink", r.Downlink)}
		if at.Uplink == 0 {
			at.Uplink = l.Uplink
		}
		l.Racks[rack] = at
	}
	if f.Optical != nil {
		key, perr := f.Optical.read(&l.Optical)
		bad("optical"+key, perr)
	}
	return l, err
}

// emulation returns the setting of a worker that emulates links as slow as a topology says.
func emulation(file, topologyName string) (*emulate.Setting, error) {
	if file == "" {
		return nil, nil
	}
	if topologyName == "" {
		return nil, fmt.Errorf("--emulate needs --topology: how slow should the links be?")
	}
	l, err := readLinks(topologyName)
	return &emulate.Setting{File: file, Rates: l}, err
}
