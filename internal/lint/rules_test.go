package lint

// packages says what each package may import of the other packages of this module, by path
// below the module. A package's own subpackages may import it and each other only where
// a row says so. Test files are free.
//
// The table is the architecture: a new row is a decision, and a new import that no
// row allows fails the build.
var packages = map[string][]string{
	// Nothing of ours.
	"topology":             nil,
	"storage":              {"internal/suggest"},
	"storage/storagetest":  {"storage"},
	"storage/webhdfs":      {"storage"},
	"mapreduce/recordfile": {"internal/codec", "internal/pages"},
	"shuffle":              {"internal/codec", "internal/pages", "internal/prefetch"},
	"trace":                nil,
	"trace/formats":        {"trace"},
	"jobs/gensort":         nil,
	"jobs/textgen":         {"internal/codec"},
	"bench":                nil,
	"bench/bare":           {"internal/find"},
	"bench/dfsbench":       {"bench/live", "client", "dfs", "dfs/blocks", "dfs/names", "internal/disk", "internal/rpc", "internal/wire"},
	"bench/live":           {"client", "internal/procs", "internal/suggest"},
	"bench/noop":           {"jobs", "worker/attempt"}, // what a user's program is, but for its map and reduce
	"bench/jobbench":       {"internal/api", "bench/live", "client", "dfs", "internal/rpc", "internal/wire", "worker/roster"},
	"internal/explain":     {"mapreduce"},
	"internal/automaton":   nil,
	"internal/find":        nil,
	"internal/pages":       nil,
	"internal/prefetch":    nil,
	"internal/program":     nil,
	"internal/hadooptest":  {"internal/require"},
	"internal/limited":     nil,
	"internal/procs":       nil,
	"internal/scripthost":  {"scheduler", "scheduler/examine", "scheduler/script"},
	"internal/suggest":     {"internal/human"},
	"internal/tick":        nil,

	"mapreduce":      {"mapreduce/recordfile", "internal/pages", "internal/priority"},
	"jobs/streaming": {"mapreduce", "internal/pages", "internal/procs"},
	"jobs":           {"mapreduce", "jobs/gensort", "jobs/streaming", "internal/automaton", "internal/find", "internal/human", "internal/prefetch", "internal/suggest"},
	"task":           {"internal/disk", "internal/pages", "mapreduce", "shuffle", "storage"},
	"local":          {"internal/disk", "mapreduce", "shuffle", "storage", "task"},

	"netmon":        {"topology"},
	"dfs/placement": {"topology", "internal/suggest"},

	"scheduler":               {"topology", "netmon", "internal/human", "internal/priority"},
	"scheduler/drive":         {"topology", "scheduler"},
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
	"scheduler/keyed":         {"topology", "scheduler"},
	"scheduler/script":        {"topology", "scheduler", "scheduler/keyed"},
	"scheduler/policies":      {"internal/suggest", "scheduler/...", "topology", "dfs/placement"},
	"scheduler/examine":       {"internal/human", "topology", "scheduler"},
	"scheduler/schedulertest": {"internal/priority", "topology", "netmon", "scheduler", "scheduler/examine", "scheduler/policies"},

	"sim/flow": {"topology"},
	"sim":      {"topology", "netmon", "scheduler", "scheduler/drive", "scheduler/policies", "trace", "dfs/placement", "sim/flow"},

	"sim/compare": {"topology", "scheduler", "trace", "sim", "internal/chart", "internal/stats"},

	"play": {"topology", "scheduler", "scheduler/drive"},

	"lab":           {"topology", "scheduler", "scheduler/policies", "trace", "sim", "sim/compare", "internal/chart", "internal/stats"},
	"lab/capacity":  labDocument("scheduler/capacity"),
	"lab/deadline":  labDocument("scheduler/deadline", "scheduler/fair"),
	"lab/hybrid":    labDocument("scheduler/hybrid", "dfs/placement"),
	"lab/jobpacker": labDocument("scheduler/jobpacker", "dfs/placement", "sim/flow"),
	"lab/marp":      labDocument("scheduler/admission"),
	"lab/nas":       labDocument("scheduler/nas"),
	"lab/slowdown":  labDocument(),
	"lab/live":      {"topology", "scheduler", "scheduler/policies", "scheduler/drive", "sim", "lab", "internal/chart", "internal/stats"},
	"lab/all":       {"internal/suggest", "lab", "lab/..."},

	"master/tracker":       {"internal/suggest", "internal/program", "topology", "netmon", "scheduler", "scheduler/drive", "internal/codec", "internal/stats", "mapreduce", "internal/wire"},
	"worker/roster":        {"internal/wire"},
	"master/history":       {"internal/codec", "internal/wire"},
	"master":               {"internal/api", "internal/program", "internal/audit", "internal/codec", "internal/suggest", "internal/tick", "mapreduce", "storage", "internal/secure", "master/tracker", "master/history", "topology", "netmon", "scheduler", "scheduler/policies", "scheduler/script", "internal/scripthost", "dfs", "dfs/names", "dfs/placement", "trace", "internal/wire", "internal/rpc", "internal/disk", "internal/journal", "internal/membership", "internal/metrics"},
	"worker/attempt":       {"internal/api", "internal/codec", "internal/emulate", "internal/secure", "mapreduce", "shuffle", "storage", "task", "dfs", "internal/wire", "internal/rpc"},
	"worker":               {"internal/api", "internal/program", "internal/audit", "internal/codec", "internal/emulate", "internal/secure", "worker/roster", "worker/attempt", "mapreduce", "shuffle", "storage", "task", "dfs", "dfs/blocks", "internal/wire", "internal/rpc", "internal/disk", "internal/membership", "internal/metrics", "internal/procs", "internal/limited"},
	"client":               {"internal/api", "internal/codec", "internal/wire", "internal/rpc", "internal/secure", "dfs", "mapreduce"},
	"web":                  {"internal/api", "internal/rpc", "internal/wire", "internal/chart", "internal/human", "sim/compare"},
	"internal/testcluster": {"internal/api", "..."},

	"internal/launch":  {"client", "internal/program", "internal/console", "internal/disk", "internal/explain", "internal/human", "internal/wire", "jobs", "local", "mapreduce", "storage", "storage/webhdfs", "task"},
	"internal/console": {"internal/human", "local", "mapreduce", "internal/wire"},
	"internal/chart":   nil,
	"internal/stats":   {"internal/chart"},
	"internal/human":   nil,

	"internal/disk":         nil,
	"internal/disk/memdisk": {"internal/disk"},
	"internal/memnet":       nil,
	"internal/metrics":      nil,
	"internal/journal":      {"internal/codec", "internal/disk", "internal/wire"},
	"internal/codec":        {},
	"internal/mutate":       {"internal/procs"},
	"internal/priority":     {},
	"internal/wire":         {"internal/codec", "internal/priority", "mapreduce", "topology"},
	"internal/membership":   {"topology"},
	"internal/api":          {"internal/rpc", "internal/wire"},
	"internal/rpc":          {"internal/codec", "internal/wire", "internal/metrics"},
	"internal/rpc/rpctest":  {"internal/rpc"},
	"internal/emulate":      {"internal/api", "topology", "internal/rpc", "internal/wire", "sim/flow"},
	"internal/secure":       {"internal/rpc", "internal/tick", "internal/wire"},
	"internal/audit":        {"internal/rpc", "internal/wire"},

	"dfs":              {"internal/api", "internal/tick", "dfs/pipe", "dfs/blocks", "storage", "internal/wire", "internal/rpc"},
	"dfs/pipe":         {"internal/codec", "internal/wire", "internal/rpc"},
	"dfs/token":        {"internal/wire", "internal/rpc"},
	"dfs/dfstest":      {"internal/api", "internal/tick", "dfs", "dfs/...", "internal/wire", "internal/rpc", "internal/disk"},
	"dfs/names":        {"internal/human", "internal/suggest", "internal/api", "internal/codec", "dfs/placement", "dfs/token", "topology", "internal/wire", "internal/rpc", "internal/journal", "internal/disk"},
	"dfs/blocks":       {"internal/api", "internal/tick", "dfs/pipe", "dfs/token", "internal/wire", "internal/rpc", "internal/disk"},
	"internal/lint":    nil,
	"internal/require": nil,
	".":                {"internal/launch", "internal/suggest", "internal/wire", "jobs", "local", "mapreduce", "client", "worker/attempt"},
	"examples":         {".", "mapreduce"},
	"examples/policy":  {"cli", "scheduler", "scheduler/keyed", "scheduler/policies", "topology"}, // a millrace with one policy more
	"docs/course":      {".", "mapreduce"},
	"integration":      {"..."},
	"cli":              {"..."},
	"cmd/millrace":     {"cli"},
}

// labDocument is what a document of the laboratory may import: the kit, what it runs, and the policies that it looks into.
func labDocument(looksInto ...string) []string {
	return append(looksInto, "lab", "topology", "scheduler", "scheduler/policies", "trace", "sim", "sim/compare", "internal/chart", "internal/human", "internal/stats")
}

// pure packages decide and do nothing else: the simulator and the live cluster run the
// same code.
var pure = []string{"topology", "netmon", "dfs/placement", "scheduler", "sim", "internal/chart", "internal/stats", "master/tracker", "worker/roster"}

// impure lists what a pure package may not import.
var impure = []string{"os", "net", "context", "log", "io/fs", "os/exec", "log/slog", "syscall", "unsafe", "crypto/rand", "runtime"}

// wallClock lists the functions of package time that read the clock or wait.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// clockless packages are not pure, but measure leases and timeouts with a clock that is passed in and never jumps.
var clockless = []string{"dfs/names", "dfs/token"}
