package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Links are the link rates of a cluster whose nodes come and go. The zero value models none.
type Links struct {
	NIC    Rate // every node's card, in each direction
	Uplink Rate // of racks that Racks does not list; 0 means not modelled
	Racks  map[string]Rack
	// Optical joins racks in pairs beside their links.
	Optical OCS
}

// Rack returns the rack of that name with its rates.
func (l Links) Rack(name string) Rack {
	if r, ok := l.Racks[name]; ok {
		r.Name = name
		return r
	}
	return Rack{Name: name, Uplink: l.Uplink}
}

// Down returns the rate from the core to the rack.
func (r Rack) Down() Rate {
	if r.Downlink > 0 {
		return r.Downlink
	}
	return r.Uplink
}

// units are in bytes per second; longer names first.
var units = []struct {
	suffix string
	rate   Rate
}{
	{"gbit/s", 1e9 / 8},
	{"mbit/s", 1e6 / 8},
	{"kbit/s", 1e3 / 8},
	{"gbps", 1e9 / 8},
	{"mbps", 1e6 / 8},
	{"kbps", 1e3 / 8},
	{"gb/s", 1e9 / 8},
	{"mb/s", 1e6 / 8},
	{"kb/s", 1e3 / 8},
	{"b/s", 1.0 / 8},
}

// ParseRate parses a rate in bits, as usual for links: 1Gb/s, 100Mbps.
func ParseRate(s string) (Rate, error) {
	low := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	for _, u := range units {
		number, ok := strings.CutSuffix(low, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v > 0) || v > 1e9 {
			break
		}
		return Rate(v) * u.rate, nil
	}
	return 0, fmt.Errorf("rate %q: must be a positive number of bits a second such as 1Gb/s or 100Mb/s", s)
}
