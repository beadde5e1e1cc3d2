package lint

// rooms says what each room may import of the other rooms of this module, by path
// below the module. A room's own sub-rooms may import it and each other only where
// a row says so. Test files are free.
//
// The table is the architecture: a new row is a decision, and a new import that no
// row allows fails the build.
var rooms = map[string][]string{
	// Nothing of ours.
	"topology":             nil,
	"storage":              nil,
	"mapreduce/recordfile": nil,
	"shuffle":              nil,
	"trace":                nil,
	"jobs/gensort":         nil,
	"jobs/textgen":         nil,
	"bench":                nil,
	"bench/bare":           {"internal/find"},
	"bench/dfsbench":       {"bench/live", "client", "dfs", "dfs/blocks", "dfs/names", "internal/disk", "internal/rpc", "internal/wire"},
	"bench/live":           {"client"},
	"bench/noop":           {"jobs", "worker/attempt"}, // what a user's program is, but for its map and reduce
	"bench/jobbench":       {"bench/live", "client", "dfs", "internal/rpc", "internal/wire", "worker/core"},
	"internal/find":        nil,

	"mapreduce":      {"mapreduce/recordfile"},
	"jobs/streaming": {"mapreduce"},
	"jobs":           {"mapreduce", "jobs/gensort", "jobs/streaming", "internal/find"},
	"task":           {"mapreduce", "shuffle", "storage"},
	"local":          {"mapreduce", "shuffle", "storage", "task"},

	"netmon":        {"topology"},
	"dfs/placement": {"topology"},

	"scheduler":               {"topology", "netmon"},
	"scheduler/fifo":          {"topology", "netmon", "scheduler"},
	"scheduler/fair":          {"topology", "netmon", "scheduler"},
	"scheduler/admission":     {"topology", "netmon", "scheduler"},
	"scheduler/capacity":      {"topology", "netmon", "scheduler", "scheduler/fair"},
	"scheduler/deadline":      {"topology", "netmon", "scheduler", "scheduler/fair"},
	"scheduler/sizebased":     {"topology", "netmon", "scheduler", "scheduler/fair"},
	"scheduler/nas":           {"topology", "netmon", "scheduler", "scheduler/fair"},
	"scheduler/jobpacker":     {"topology", "netmon", "scheduler", "scheduler/fair"},
	"scheduler/hybrid":        {"topology", "netmon", "scheduler", "scheduler/fair", "scheduler/hybrid/svm"},
	"scheduler/hybrid/svm":    nil,
	"scheduler/policies":      {"scheduler/...", "topology", "dfs/placement"},
	"scheduler/schedulertest": {"topology", "netmon", "scheduler", "scheduler/policies"},

	"sim/flow": {"topology"},
	"sim":      {"topology", "netmon", "scheduler", "scheduler/policies", "trace", "dfs/placement", "sim/flow"},

	"lab": {"topology", "netmon", "scheduler", "scheduler/...", "trace", "dfs/placement", "sim", "sim/flow", "internal/chart"},

	"master/core":          {"topology", "netmon", "scheduler", "internal/wire"},
	"worker/core":          {"internal/wire"},
	"master/history":       {"internal/wire"},
	"master":               {"internal/secure", "master/core", "master/history", "topology", "netmon", "scheduler", "scheduler/policies", "dfs", "dfs/names", "dfs/placement", "trace", "internal/wire", "internal/rpc", "internal/disk", "internal/journal", "internal/membership", "internal/metrics"},
	"worker/attempt":       {"internal/emulate", "internal/secure", "mapreduce", "shuffle", "storage", "task", "dfs", "internal/wire", "internal/rpc"},
	"worker":               {"internal/emulate", "internal/secure", "worker/core", "worker/attempt", "mapreduce", "shuffle", "storage", "task", "dfs", "dfs/blocks", "internal/wire", "internal/rpc", "internal/disk", "internal/membership", "internal/metrics"},
	"client":               {"internal/wire", "internal/rpc", "internal/secure", "dfs", "mapreduce"},
	"web":                  {"internal/wire", "internal/chart", "internal/human"},
	"internal/testcluster": {"..."},

	"internal/console": {"internal/human", "local", "mapreduce", "internal/wire"},
	"internal/chart":   nil,
	"internal/human":   nil,

	"internal/disk":         nil,
	"internal/disk/memdisk": {"internal/disk"},
	"internal/memnet":       nil,
	"internal/metrics":      nil,
	"internal/journal":      {"internal/disk", "internal/wire"},
	"internal/wire":         {"topology"},
	"internal/membership":   {"topology"},
	"internal/rpc":          {"internal/wire", "internal/metrics"},
	"internal/emulate":      {"topology", "internal/rpc", "internal/wire"},
	"internal/secure":       {"internal/rpc", "internal/wire"},

	"dfs":              {"dfs/pipe", "dfs/blocks", "storage", "internal/wire", "internal/rpc"},
	"dfs/pipe":         {"internal/wire", "internal/rpc"},
	"dfs/dfstest":      {"dfs", "dfs/...", "internal/wire", "internal/rpc", "internal/disk"},
	"dfs/names":        {"dfs/placement", "topology", "internal/wire", "internal/rpc", "internal/journal", "internal/disk"},
	"dfs/blocks":       {"dfs/pipe", "internal/wire", "internal/rpc", "internal/disk"},
	"internal/lint":    nil,
	"internal/require": nil,
	".":                {"internal/console", "internal/wire", "jobs", "local", "mapreduce", "client", "worker/attempt"},
	"examples":         {".", "mapreduce"},
	"integration":      {"..."},
	"cmd/millrace":     {"..."},
}

// pure rooms decide and do nothing else: the simulator and the live cluster run the
// same code.
var pure = []string{"topology", "netmon", "dfs/placement", "scheduler", "sim", "internal/chart", "master/core", "worker/core"}

// impure lists what a pure room may not import.
var impure = []string{"os", "net", "context", "log", "io/fs", "os/exec", "log/slog", "syscall", "unsafe", "crypto/rand", "runtime"}

// wallClock lists the functions of package time that read the clock or wait.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// clockless rooms are not pure, but measure leases and timeouts with a clock that is passed in and never jumps.
var clockless = []string{"dfs/names"}
