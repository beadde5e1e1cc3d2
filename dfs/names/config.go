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
	// Checkpoint is the path of the bbolt file. Its lock keeps a second service away.
	Checkpoint string
	// CheckpointEvery is how many journal records may pass between checkpoints. Larger:
	// less writing, longer restarts. (ours)
	CheckpointEvery int

	// Now is a clock that never jumps: leases and timeouts are measured with it.
	Now func() time.Duration
	// Wall tells modification times and nothing else.
	Wall func() time.Time
	// Rand chooses nodes and the cluster's name.
	Rand *rand.Rand
	// Secret makes 32 bytes that nobody can guess, for the keys of block tokens.
	Secret func() []byte
	// KeyEvery is how long a key signs block tokens, and how long nodes know it before. TokenLife is how long a token is
	// good. Shorter: what was learnt in secret is of use for less time, and long reads ask again more often. (HDFS: 10 h
	// both; ours 1 h)
	KeyEvery, TokenLife time.Duration
	// Superuser may do everything, and so may members of Supergroup. Admins says that those whom the server knows to be
	// administrators may, too; it must not be set where callers are believed without proof.
	Superuser, Supergroup string
	Admins                bool
	// Groups lists the groups of a user; nil means that nobody has any. It must not block.
	Groups func(user string) []string
	// Umask is taken from the modes of new files (0666) and directories (0777) of clients that say none. (HDFS: 022)
	Umask uint16
	// TrashAfter is how long what was moved to the trash stays there. (HDFS: off; ours a day)
	TrashAfter time.Duration
	// Epoch is the least that this opening gets; it is always above the one before.
	Epoch uint64

	// Readers tells in which racks a user's file will be read, if a plan says so: its blocks go there, unless the writer says
	// otherwise. It must not block; nil knows of no plans.
	Readers func(path, user string) (racks []string)

	// Placement makes the policy that chooses nodes, for a cluster that grew.
	Placement func(*topology.Topology) (placement.Policy, error)
	// Replication and BlockSize are for files that do not say (HDFS: 3, 128 MiB; ours 64 MiB).
	Replication int
	BlockSize   int64
	// MaxReplication is the most a file may ask for (HDFS: 512; ours 64).
	MaxReplication int
	// MinReplicas is how many nodes must have stored a block before it counts as written.
	MinReplicas int

	// DeadAfter is when a node that does not beat is dead. Shorter: earlier repair,
	// more needless copies (HDFS: 630 s; ours 10 s).
	DeadAfter time.Duration
	// VanishShare is the share of nodes whose silence at one time means that the
	// network, not the nodes, is at fault: then nothing is repaired. (ours)
	VanishShare float64
	// LeaseTimeout is how long a writer may be silent before its files are closed
	// (HDFS: hard limit 60 min, soft 60 s; ours 60 s).
	LeaseTimeout time.Duration
	// RecoverTimeout is how long one attempt to recover a block may take, and
	// RecoverGiveUp after what time a block that no live node holds is given up.
	RecoverTimeout, RecoverGiveUp time.Duration

	// SafeThreshold is the share of blocks with a replica at which safe mode may end,
	// SafeExtension how much longer it lasts (HDFS: 0.999, 30 s; ours 3 s).
	SafeThreshold float64
	SafeExtension time.Duration

	// DeleteDelay is how long a replica to be deleted waits; it can be called back
	// meanwhile. DeletesPerBeat bounds one command. CommandTimeout is when a delete
	// that nobody confirmed is sent again.
	DeleteDelay    time.Duration
	DeletesPerBeat int
	CommandTimeout time.Duration

	// CopyStreams is how many copies a node may send, and receive, at once;
	// CopyBytesPerSecond how much each node may be asked to send. CopyTimeout is when a
	// copy is taken as failed. RepairPerTick bounds how many blocks one Tick looks at.
	CopyStreams        int
	CopyBytesPerSecond int64
	CopyTimeout        time.Duration
	RepairPerTick      int
}

// DefaultConfig is a good start for a small cluster.
func DefaultConfig() Config {
	return Config{
		CheckpointEvery: 50_000,
		Rand:            rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		Superuser:       "root", Supergroup: "supergroup", Umask: 0o022, TrashAfter: 24 * time.Hour,
		Secret:   secret,
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
	case c.Disk == nil || c.Checkpoint == "" || c.Now == nil || c.Wall == nil || c.Rand == nil || c.Placement == nil:
		return fmt.Errorf("names config: Disk, Checkpoint, Now, Wall, Rand and Placement must be set")
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
