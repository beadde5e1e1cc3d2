package names

import (
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// Routes adds the service's calls to a server. What a client says about its user is replaced by
// what is known about it; a node speaks for the users whose work it does.
func (s *Service) Routes(srv *rpc.Server) {
	route(srv, "dfs.create", func(c rpc.Caller, r wire.CreateRequest) (wire.CreateResponse, error) {
		speak(c, &r.User)
		return s.Create(r)
	})
	route(srv, "dfs.add-block", func(_ rpc.Caller, r wire.AddBlockRequest) (wire.Pipeline, error) { return s.AddBlock(r) })
	route(srv, "dfs.bump", func(_ rpc.Caller, r wire.BumpRequest) (wire.Pipeline, error) { return s.Bump(r) })
	route(srv, "dfs.complete", func(_ rpc.Caller, r wire.CompleteRequest) (wire.FileInfo, error) { return s.Complete(r) })
	route(srv, "dfs.abandon", func(_ rpc.Caller, r wire.LeaseRequest) (none, error) { return none{}, s.Abandon(r) })
	route(srv, "dfs.renew", func(_ rpc.Caller, r wire.LeaseRequest) (none, error) { return none{}, s.RenewLease(r) })
	s.routeReads(srv)
	route(srv, "dfs.mkdir", func(c rpc.Caller, r wire.MkdirRequest) (wire.FileInfo, error) {
		speak(c, &r.User)
		return s.Mkdir(r)
	})
	route(srv, "dfs.rename", func(c rpc.Caller, r wire.RenameRequest) (wire.FileInfo, error) {
		speak(c, &r.User)
		return s.Rename(r)
	})
	route(srv, "dfs.delete", func(c rpc.Caller, r wire.DeleteRequest) (none, error) {
		speak(c, &r.User)
		return none{}, s.Delete(r)
	})
	route(srv, "dfs.set-replication", func(c rpc.Caller, r wire.SetReplicationRequest) (wire.FileInfo, error) {
		speak(c, &r.User)
		return s.SetReplication(r)
	})
	s.routeNodes(srv)
}

func (s *Service) routeReads(srv *rpc.Server) {
	route(srv, "dfs.stat", func(c rpc.Caller, r wire.PathRequest) (wire.FileInfo, error) {
		speak(c, &r.User)
		return s.Stat(r)
	})
	route(srv, "dfs.list", func(c rpc.Caller, r wire.ListRequest) (wire.ListResponse, error) {
		speak(c, &r.User)
		return s.List(r)
	})
	route(srv, "dfs.locate", func(c rpc.Caller, r wire.LocateRequest) (wire.LocateResponse, error) {
		speak(c, &r.User)
		return s.Locate(r)
	})
	route(srv, "dfs.usage", func(c rpc.Caller, r wire.QuotaRequest) (wire.Usage, error) {
		speak(c, &r.User)
		return s.Usage(r)
	})
	route(srv, "dfs.fsck", func(c rpc.Caller, r wire.FsckRequest) (wire.FsckResponse, error) {
		speak(c, &r.User)
		return s.Fsck(r)
	})
	route(srv, "dfs.nodes", func(rpc.Caller, none) ([]wire.StoreNode, error) { return s.Nodes(), nil })
}

// routeNodes adds what nodes and administrators call.
func (s *Service) routeNodes(srv *rpc.Server) {
	handle(srv, "dfs.register", rpc.Nodes, func(_ rpc.Caller, r wire.RegisterRequest) (wire.RegisterResponse, error) { return s.Register(r) })
	handle(srv, "dfs.report", rpc.Nodes, func(_ rpc.Caller, r wire.ReportRequest) (none, error) { return none{}, s.Report(r) })
	handle(srv, "dfs.beat", rpc.Nodes, func(_ rpc.Caller, r wire.BeatRequest) (wire.BeatResponse, error) { return s.Beat(r) })
	handle(srv, "dfs.set-quota", rpc.Admins, func(_ rpc.Caller, r wire.QuotaRequest) (none, error) { return none{}, s.SetQuota(r) })
	handle(srv, "dfs.safemode", rpc.Users, func(c rpc.Caller, r wire.SafeModeRequest) (wire.SafeMode, error) {
		if r.Set != "" {
			if err := rpc.Admins.Check(c); err != nil {
				return wire.SafeMode{}, err
			}
		}
		return s.SafeMode(r)
	})
	handle(srv, "dfs.drain", rpc.Admins, func(_ rpc.Caller, r wire.DrainRequest) (wire.StoreNode, error) { return s.Drain(r) })
	handle(srv, "dfs.balance", rpc.Admins, func(_ rpc.Caller, r wire.BalanceRequest) (wire.BalanceStatus, error) { return s.Balance(r) })
}

type none struct{}

func speak(c rpc.Caller, user *string) {
	if c.Node == "" || *user == "" {
		*user = c.User
	}
}

func route[Req, Resp any](srv *rpc.Server, name string, fn func(rpc.Caller, Req) (Resp, error)) {
	handle(srv, name, rpc.Files, fn)
}

func handle[Req, Resp any](srv *rpc.Server, name string, rule rpc.Rule, fn func(rpc.Caller, Req) (Resp, error)) {
	rpc.HandleQuick(srv, name, rule, fn)
}
