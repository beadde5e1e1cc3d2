package nas

import "github.com/millrace/millrace/scheduler"

// Info describes NAS; the others describe its ablations (spec/nas 3.13).
var (
	Info       = info("nas", "spreads shuffle traffic: maps by output, reduces by place, and only light jobs in congested racks", nil)
	MTSInfo    = info("nas-mts", "NAS with MTS only: maps by output, reduces as fair does from 0.2 of the maps", func(c *Config) { c.Mechanisms, c.TMax = "mts", c.TMin })
	MTSCAInfo  = info("nas-mts-ca", "NAS without CR-RTS: congestion changes nothing", func(c *Config) { c.Mechanisms = "mts-ca" })
	NoTTInfo   = info("nas-no-tt", "NAS without the traffic threshold", func(c *Config) { c.CapTraffic = false })
	NoMCTInfo  = info("nas-no-mct", "NAS with a constant completion threshold", func(c *Config) { c.TMax = c.TMin })
	NoBothInfo = info("nas-no-both", "NAS with neither traffic threshold nor adaptive completion threshold", func(c *Config) { c.CapTraffic, c.TMax = false, c.TMin })
)

func info(name, summary string, change func(*Config)) scheduler.Info {
	defaults := func() Config {
		d := DefaultConfig()
		if change != nil {
			change(&d)
		}
		return d
	}
	return scheduler.Info{
		Name: name, Seam: scheduler.Assignment, Summary: summary, Source: "spec/nas 3.5 to 3.9, 3.13",
		Live: livePatience, LiveUnless: livePatienceUnless, Usual: scheduler.RipeUsually, UsualUnless: scheduler.RipeUnless, Setup: scheduler.Bind(defaults, (*Config).params, New),
	}
}
