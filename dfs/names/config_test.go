package names

import (
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestConfigsThatCannotBe: each value that is missing or out of range is refused by itself; the ends of the ranges are allowed.
func TestConfigsThatCannotBe(t *testing.T) {
	r := newRig(t)
	r.cfg.Disk = r.disk
	must(t, r.cfg.validate())
	for name, spoil := range map[string]func(c *Config){
		"no superuser":               func(c *Config) { c.Superuser = "" },
		"no supergroup":              func(c *Config) { c.Supergroup = "" },
		"a umask of more than modes": func(c *Config) { c.Umask = 0o1000 },
		"no time in the trash":       func(c *Config) { c.TrashAfter = 0 },
		"no secret":                  func(c *Config) { c.Secret = nil },
		"keys for no time":           func(c *Config) { c.KeyEvery = 0 },
		"tokens for no time":         func(c *Config) { c.TokenLife = 0 },
		"no disk":                    func(c *Config) { c.Disk = nil },
		"no checkpoint":              func(c *Config) { c.Checkpoint = "" },
		"no clock":                   func(c *Config) { c.Now = nil },
		"no wall clock":              func(c *Config) { c.Wall = nil },
		"no chance":                  func(c *Config) { c.Rand = nil },
		"no placement":               func(c *Config) { c.Placement = nil },
		"no replicas":                func(c *Config) { c.Replication = 0 },
		"more replicas than allowed": func(c *Config) { c.Replication, c.MaxReplication = 5, 4 },
		"more than a byte counts":    func(c *Config) { c.MaxReplication = 256 },
		"blocks that nobody stored":  func(c *Config) { c.MinReplicas = 0 },
		"blocks too large":           func(c *Config) { c.BlockSize = wire.MaxBlock + 1 },
		"blocks of nothing":          func(c *Config) { c.BlockSize = 0 },
		"checkpoints at no record":   func(c *Config) { c.CheckpointEvery = 0 },
		"no deletes in a beat":       func(c *Config) { c.DeletesPerBeat = 0 },
		"no streams":                 func(c *Config) { c.CopyStreams = 0 },
		"no repairs in a tick":       func(c *Config) { c.RepairPerTick = 0 },
		"dead at once":               func(c *Config) { c.DeadAfter = 0 },
		"leases for no time":         func(c *Config) { c.LeaseTimeout = 0 },
		"recoveries in no time":      func(c *Config) { c.RecoverTimeout = 0 },
		"commands in no time":        func(c *Config) { c.CommandTimeout = 0 },
		"copies in no time":          func(c *Config) { c.CopyTimeout = 0 },
		"a share below none":         func(c *Config) { c.SafeThreshold = -0.1 },
		"a share above all":          func(c *Config) { c.SafeThreshold = 1.1 },
		"none must be silent":        func(c *Config) { c.VanishShare = 0 },
		"more than all are silent":   func(c *Config) { c.VanishShare = 1.1 },
	} {
		c := r.cfg
		if spoil(&c); c.validate() == nil {
			t.Errorf("%s: allowed", name)
		}
	}
	c := r.cfg
	c.Umask, c.TrashAfter, c.KeyEvery, c.TokenLife, c.BlockSize = 0o777, 1, 1, 1, wire.MaxBlock
	c.Replication, c.MaxReplication, c.MinReplicas, c.SafeThreshold, c.VanishShare = 255, 255, 1, 1, 1
	c.CheckpointEvery, c.DeletesPerBeat, c.CopyStreams, c.RepairPerTick = 1, 1, 1, 1
	for _, d := range []*time.Duration{&c.DeadAfter, &c.LeaseTimeout, &c.RecoverTimeout, &c.CommandTimeout, &c.CopyTimeout} {
		*d = 1
	}
	must(t, c.validate())
	c.BlockSize, c.Replication, c.SafeThreshold = 1, 1, 0
	must(t, c.validate())
	if s, err := Open(Config{}); err == nil {
		t.Error("a service without a config was opened:", s)
	}
}
