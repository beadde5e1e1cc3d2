// Package api lists the calls of master and workers: name, who may make it, request and response. Both ends use the same
// value, so that the compiler holds them together. docs/api.md describes them.
package api

import (
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

type none = struct{}

// Jobs.
var (
	JobSubmit   = rpc.Method[wire.JobSpec, wire.Submitted]{Name: "job.submit", Rule: rpc.Users}
	JobStatus   = rpc.Method[wire.JobRequest, wire.JobStatus]{Name: "job.status", Rule: rpc.Users}
	JobList     = rpc.Method[wire.JobsRequest, []wire.JobStatus]{Name: "job.list", Rule: rpc.Users}
	JobKill     = rpc.Method[wire.JobRequest, none]{Name: "job.kill", Rule: rpc.Users}
	JobWhy      = rpc.Method[wire.JobRequest, wire.Text]{Name: "job.why", Rule: rpc.Users}
	JobAttempts = rpc.Method[wire.AttemptsRequest, []wire.PastAttempt]{Name: "job.attempts", Rule: rpc.Users}
	JobLog      = rpc.Method[wire.LogRequest, wire.Log]{Name: "job.log", Rule: rpc.Users}
)

// What happened.
var (
	HistoryList   = rpc.Method[wire.PastQuery, wire.PastJobs]{Name: "history.list", Rule: rpc.Users}
	HistoryJob    = rpc.Method[wire.JobRequest, *wire.PastSummary]{Name: "history.job", Rule: rpc.Users}
	HistoryEvents = rpc.Method[wire.PastEventsRequest, wire.PastEvents]{Name: "history.events", Rule: rpc.Users}
)

// The cluster.
var (
	Health            = rpc.Method[none, wire.Text]{Name: "health", Rule: rpc.Anyone}
	CertRenew         = rpc.Method[wire.RenewRequest, wire.Renewed]{Name: "cert.renew", Rule: rpc.Users}
	NodeList          = rpc.Method[none, []wire.NodeStatus]{Name: "node.list", Rule: rpc.Files}
	NodeDrain         = rpc.Method[wire.DrainRequest, none]{Name: "node.drain", Rule: rpc.Admins}
	QueueList         = rpc.Method[none, []wire.QueueStatus]{Name: "queue.list", Rule: rpc.Users}
	UserList          = rpc.Method[none, []wire.UserStatus]{Name: "user.list", Rule: rpc.Users}
	UserLimit         = rpc.Method[wire.LimitRequest, none]{Name: "user.limit", Rule: rpc.Admins}
	NetStatus         = rpc.Method[none, wire.NetStatus]{Name: "net.status", Rule: rpc.Users}
	ClusterLoad       = rpc.Method[none, wire.Load]{Name: "cluster.load", Rule: rpc.Users}
	SchedulerGet      = rpc.Method[none, wire.Policies]{Name: "scheduler.get", Rule: rpc.Users}
	SchedulerSet      = rpc.Method[wire.Choice, none]{Name: "scheduler.set", Rule: rpc.Admins}
	SchedulerLog      = rpc.Method[wire.DecisionsRequest, wire.Decisions]{Name: "scheduler.log", Rule: rpc.Users}
	SchedulerLines    = rpc.Method[wire.DecisionsRequest, wire.DecisionLines]{Name: "scheduler.lines", Rule: rpc.Users}
	SchedulerForecast = rpc.Method[wire.ForecastRequest, wire.Forecast]{Name: "scheduler.forecast", Rule: rpc.Users}
	SchedulerPlan     = rpc.Method[wire.PlanRequest, wire.Plans]{Name: "scheduler.plan", Rule: rpc.Users}
	SchedulerStatus   = rpc.Method[none, wire.SchedulerStatus]{Name: "scheduler.status", Rule: rpc.Users}
)

// Among master, workers and tasks.
var (
	WorkerReport  = rpc.Method[wire.Report, wire.Answer]{Name: "worker.report", Rule: rpc.Nodes}
	ClusterGossip = rpc.Method[none, wire.Gossip]{Name: "cluster.gossip", Rule: rpc.Nodes}
	TaskLog       = rpc.Method[wire.LogRequest, wire.Log]{Name: "task.log", Rule: rpc.Nodes}
	StageInfo     = rpc.Method[wire.StageRef, wire.StageInfo]{Name: "stage.info", Rule: rpc.Tasks}
	StageOutputs  = rpc.Method[wire.OutputsRequest, wire.OutputsResponse]{Name: "stage.outputs", Rule: rpc.Tasks}
	DriverStep    = rpc.Method[wire.DriverRequest, wire.DriverStep]{Name: "driver.step", Rule: rpc.Tasks}
	DriverPlan    = rpc.Method[wire.DriverRequest, wire.Planned]{Name: "driver.plan", Rule: rpc.Tasks}
	DriverCommit  = rpc.Method[wire.DriverRequest, none]{Name: "driver.commit", Rule: rpc.Tasks}
)

// Files.
var (
	DFSStat           = rpc.Method[wire.PathRequest, wire.FileInfo]{Name: "dfs.stat", Rule: rpc.Files}
	DFSList           = rpc.Method[wire.ListRequest, wire.ListResponse]{Name: "dfs.list", Rule: rpc.Files}
	DFSLocate         = rpc.Method[wire.LocateRequest, wire.LocateResponse]{Name: "dfs.locate", Rule: rpc.Files}
	DFSUsage          = rpc.Method[wire.QuotaRequest, wire.Usage]{Name: "dfs.usage", Rule: rpc.Files}
	DFSFsck           = rpc.Method[wire.FsckRequest, wire.FsckResponse]{Name: "dfs.fsck", Rule: rpc.Files}
	DFSNodes          = rpc.Method[none, []wire.StoreNode]{Name: "dfs.nodes", Rule: rpc.Files}
	DFSMkdir          = rpc.Method[wire.MkdirRequest, wire.FileInfo]{Name: "dfs.mkdir", Rule: rpc.Files}
	DFSRename         = rpc.Method[wire.RenameRequest, wire.FileInfo]{Name: "dfs.rename", Rule: rpc.Files}
	DFSRenameAll      = rpc.Method[wire.RenameAllRequest, none]{Name: "dfs.rename-all", Rule: rpc.Files}
	DFSDelete         = rpc.Method[wire.DeleteRequest, none]{Name: "dfs.delete", Rule: rpc.Files}
	DFSSetReplication = rpc.Method[wire.SetReplicationRequest, wire.FileInfo]{Name: "dfs.set-replication", Rule: rpc.Files}
	DFSSnapshot       = rpc.Method[wire.SnapshotRequest, wire.FileInfo]{Name: "dfs.snapshot", Rule: rpc.Files}
	DFSSetRights      = rpc.Method[wire.SetRightsRequest, wire.FileInfo]{Name: "dfs.set-rights", Rule: rpc.Files}
	DFSCreate         = rpc.Method[wire.CreateRequest, wire.CreateResponse]{Name: "dfs.create", Rule: rpc.Files}
	DFSAddBlock       = rpc.Method[wire.AddBlockRequest, wire.Pipeline]{Name: "dfs.add-block", Rule: rpc.Files}
	DFSBump           = rpc.Method[wire.BumpRequest, wire.Pipeline]{Name: "dfs.bump", Rule: rpc.Files}
	DFSComplete       = rpc.Method[wire.CompleteRequest, wire.FileInfo]{Name: "dfs.complete", Rule: rpc.Files}
	DFSAbandon        = rpc.Method[wire.LeaseRequest, none]{Name: "dfs.abandon", Rule: rpc.Files}
	DFSRenew          = rpc.Method[wire.LeaseRequest, none]{Name: "dfs.renew", Rule: rpc.Files}
)

// The store's nodes and administrators.
var (
	DFSRegister = rpc.Method[wire.RegisterRequest, wire.RegisterResponse]{Name: "dfs.register", Rule: rpc.Nodes}
	DFSReport   = rpc.Method[wire.ReportRequest, none]{Name: "dfs.report", Rule: rpc.Nodes}
	DFSBeat     = rpc.Method[wire.BeatRequest, wire.BeatResponse]{Name: "dfs.beat", Rule: rpc.Nodes}
	DFSSetQuota = rpc.Method[wire.QuotaRequest, none]{Name: "dfs.set-quota", Rule: rpc.Admins}
	DFSSafemode = rpc.Method[wire.SafeModeRequest, wire.SafeMode]{Name: "dfs.safemode", Rule: rpc.Users}
	DFSDrain    = rpc.Method[wire.DrainRequest, wire.StoreNode]{Name: "dfs.drain", Rule: rpc.Admins}
	DFSBalance  = rpc.Method[wire.BalanceRequest, wire.BalanceStatus]{Name: "dfs.balance", Rule: rpc.Admins}
)

// Blocks, of the node that holds them.
var (
	BlockInspect = rpc.Method[wire.BlockRequest, wire.Replica]{Name: "block.inspect", Rule: rpc.Nodes}
	BlockSettle  = rpc.Method[wire.BlockRequest, none]{Name: "block.settle", Rule: rpc.Nodes}
	BlockSum     = rpc.Method[wire.BlockRequest, wire.BlockSum]{Name: "block.sum", Rule: rpc.Nodes}
	BlockLocal   = rpc.Method[wire.BlockRequest, wire.LocalBlock]{Name: "block.local", Rule: rpc.Files}
	BlockSuspect = rpc.Method[wire.BlockRequest, none]{Name: "block.suspect", Rule: rpc.Files}
)
