package names

import (
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// Config says where a service keeps its state and how patient it is. DefaultConfig
// fills in all but Disk, Checkpoint, Now and Wall.
type Config struct {
	// Disk holds the journal, in its directory "journal".
	Disk disk.FS
	// Journal bounds its files; zero values are its own defaults.
	Journal journal.Config
	// Checkpoint is the path of the bbolt file. Its lock keeps out a second service.
	Checkpoint string
	// CheckpointEvery is how many journal records may pass between checkpoints. Larger:
	// less writing, longer restarts. (ours)
	CheckpointEvery int

	// Now is a clock that never jumps. Leases and timeouts use it.
	Now func() time.Duration
	// Wall returns the time of day, for modification times only.
	Wall func() time.Time
	// Rand chooses nodes and the cluster's name.
	Rand *rand.Rand
	// Secret makes 32 bytes that nobody can guess, for the keys of block tokens.
	Secret func() []byte
	// KeyEvery is how long a key signs block tokens; nodes know it for as long before. TokenLife is how long a
	// token is valid. Shorter values limit what a stolen key or token is worth, but long reads ask for tokens
	// more often. (HDFS: 10 h both; ours 1 h)
	KeyEvery, TokenLife time.Duration
	// Superuser may do everything, as may members of Supergroup. Admins extends this to whomever the server
	// knows to be an administrator. It must not be set where callers need not prove who they are.
	Superuser, Supergroup string
	Admins                bool
	// Groups lists the groups of a user; nil means that nobody has any. It must not block.
	Groups func(user string) []string
	// Umask applies to new files (0666) and directories (0777) of clients that send none. (HDFS: 022)
	Umask uint16
	// TrashAfter is how long files stay in the trash. (HDFS: off; ours a day)
	TrashAfter time.Duration
	// First chooses where the ids of blocks and the generations of this opening begin; least is above those that it
	// knows of, and wall the time of day in milliseconds. No other opening may give out what it chooses, not even one
	// of a copy of the directory.
	First func(wall int64, least uint64) uint64
	// TakeOver makes the service take over nodes that obey a master which it does not follow. It ends when it meets
	// one, and Above says of what epoch it was: open it again with Over set to that.
	TakeOver bool
	Over     uint64
	// Told hears why a node does not obey this service. It must not block.
	Told func(error)
	// Epoch is the lowest epoch this opening may get. The epoch always exceeds the last one.
	Epoch uint64

	// Readers returns the racks in which a plan has a user's file read. Its blocks go there unless the writer gives
	// hints. It must not block. Nil means no plans.
	Readers func(path, user string) (racks []string)

	// Placement makes the policy that chooses nodes, again when the cluster grows.
	Placement func(*topology.Topology) (placement.Policy, error)
	// Replication and BlockSize are for files that do not say (HDFS: 3, 128 MiB; ours 64 MiB).
	Replication int
	BlockSize   int64
	// MaxReplication is the highest replication a file may ask for (HDFS: 512; ours 64).
	MaxReplication int
	// MinReplicas is how many nodes must have stored a block before it counts as written.
	MinReplicas int

	// DeadAfter is how long a node may miss beats before it is dead. Shorter: earlier repair, more needless
	// copies (HDFS: 630 s; ours 10 s).
	DeadAfter time.Duration
	// VanishShare is the share of nodes whose silence at one time means that the network is at fault, not the
	// nodes. Nothing is repaired then. (ours)
	VanishShare float64
	// LeaseTimeout is how long a writer may be silent before its files are closed
	// (HDFS: hard limit 60 min, soft 60 s; ours 60 s).
	LeaseTimeout time.Duration
	// RecoverTimeout is how long one attempt to recover a block may take. RecoverGiveUp is after what time the
	// service gives up a block that no live node holds.
	RecoverTimeout, RecoverGiveUp time.Duration

	// SafeThreshold is the share of blocks that must have a replica before safe mode may end. It lasts
	// SafeExtension longer (HDFS: 0.999, 30 s; ours 3 s).
	SafeThreshold float64
	SafeExtension time.Duration

	// DeleteDelay is how long a deletion waits, during which it can be called back. DeletesPerBeat bounds one
	// command. A delete that nobody confirms within CommandTimeout is sent again.
	DeleteDelay    time.Duration
	DeletesPerBeat int
	CommandTimeout time.Duration

	// CopyStreams is how many copies a node may send, and receive, at once. CopyBytesPerSecond is how much each
	// node may be asked to send. A copy fails after CopyTimeout. RepairPerTick bounds how many blocks one Tick
	// tries to repair.
	CopyStreams        int
	CopyBytesPerSecond int64
	CopyTimeout        time.Duration
	RepairPerTick      int
}

// DefaultConfig returns a configuration for a small cluster.
func DefaultConfig() Config {
	return Config{
		CheckpointEvery: 50_000,
		Rand:            rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		Superuser:       "root", Supergroup: "supergroup", Umask: 0o022, TrashAfter: 24 * time.Hour,
		Secret: secret, First: firstNumber, Told: func(error) {},
		KeyEvery: time.Hour, TokenLife: time.Hour,
		Placement:   func(t *topology.Topology) (placement.Policy, error) { return placement.New("rack-aware", t) },
		Replication: 3, BlockSize: 64 << 20, MaxReplication: 64, MinReplicas: 1,
		DeadAfter: 10 * time.Second, VanishShare: 2.0 / 3,
		LeaseTimeout: time.Minute, RecoverTimeout: 10 * time.Second, RecoverGiveUp: 2 * time.Minute,
		SafeThreshold: 0.999, SafeExtension: 3 * time.Second,
		DeleteDelay: time.Second, DeletesPerBeat: 1000, CommandTimeout: 30 * time.Second,
		CopyStreams: 16, CopyBytesPerSecond: 100 << 20, CopyTimeout: time.Minute, RepairPerTick: 2000,
	}
}

func secret() []byte {
	b := make([]byte, 32)
	_, _ = crand.Read(b) // never fails
	return b
}

func (c *Config) validate() error {
	switch {
	case c.Superuser == "" || c.Supergroup == "" || c.Umask&^0o777 != 0 || c.TrashAfter <= 0:
		return fmt.Errorf("names config: Superuser, Supergroup and TrashAfter must be set, and Umask be below 01000")
	case c.Secret == nil || c.KeyEvery <= 0 || c.TokenLife <= 0:
		return fmt.Errorf("names config: Secret, KeyEvery and TokenLife must be set")
	case c.Disk == nil || c.Checkpoint == "" || c.Now == nil || c.Wall == nil || c.Rand == nil || c.Placement == nil || c.First == nil || c.Told == nil:
		return fmt.Errorf("names config: Disk, Checkpoint, Now, Wall, Rand, Placement, First and Told must be set")
	case c.Replication < 1 || c.MaxReplication < c.Replication || c.MaxReplication > 255 || c.MinReplicas < 1:
		return fmt.Errorf("names config: replication %d, at most %d, at least %d stored: out of range", c.Replication, c.MaxReplication, c.MinReplicas)
	case c.BlockSize > wire.MaxBlock:
		return fmt.Errorf("names config: blocks of %d bytes: at most %d", c.BlockSize, wire.MaxBlock)
	case c.BlockSize < 1 || c.CheckpointEvery < 1 || c.DeletesPerBeat < 1 || c.CopyStreams < 1 || c.RepairPerTick < 1:
		return fmt.Errorf("names config: a size or count is below 1")
	case c.DeadAfter <= 0 || c.LeaseTimeout <= 0 || c.RecoverTimeout <= 0 || c.CommandTimeout <= 0 || c.CopyTimeout <= 0:
		return fmt.Errorf("names config: a timeout is not positive")
	case c.SafeThreshold < 0 || c.SafeThreshold > 1 || c.VanishShare <= 0 || c.VanishShare > 1:
		return fmt.Errorf("names config: a share is not between 0 and 1")
	}
	return nil
}
