package names

import (
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// Routes adds the service's calls to a server. What a client says about its user is replaced by what the server
// knows. A node speaks for the users whose work it does.
func (s *Service) Routes(srv *rpc.Server) {
	s.routeReads(srv)
	s.routeChanges(srv)
	s.routeWrites(srv)
	s.routeNodes(srv)
	s.routeAdmins(srv)
}

// routeWrites adds the calls of a client that writes a file.
func (s *Service) routeWrites(srv *rpc.Server) {
	asUser(s, srv, api.DFSCreate, alone(s.Create))
	asHolder(srv, api.DFSAddBlock, func(c rpc.Caller, r wire.AddBlockRequest) (wire.Pipeline, error) {
		p, err := s.AddBlock(r)
		return s.mint.writable(c, p, err)
	})
	asHolder(srv, api.DFSBump, func(c rpc.Caller, r wire.BumpRequest) (wire.Pipeline, error) {
		p, err := s.Bump(r)
		return s.mint.writable(c, p, err)
	})
	asHolder(srv, api.DFSComplete, alone(s.Complete))
	asHolder(srv, api.DFSAbandon, silent(s.Abandon))
	asHolder(srv, api.DFSRenew, silent(s.RenewLease))
}

// routeChanges adds the calls that change names and rights.
func (s *Service) routeChanges(srv *rpc.Server) {
	asUser(s, srv, api.DFSMkdir, alone(s.Mkdir))
	asUser(s, srv, api.DFSRename, alone(s.Rename))
	asUser(s, srv, api.DFSRenameAll, silent(s.RenameAll))
	asUser(s, srv, api.DFSDelete, silent(s.Delete))
	asUser(s, srv, api.DFSSetReplication, alone(s.SetReplication))
	asUser(s, srv, api.DFSSnapshot, alone(s.Snapshot))
	asUser(s, srv, api.DFSSetRights, alone(s.SetRights))
}

func (s *Service) routeReads(srv *rpc.Server) {
	asUser(s, srv, api.DFSStat, alone(s.Stat))
	asUser(s, srv, api.DFSList, alone(s.List))
	asUser(s, srv, api.DFSLocate, func(c rpc.Caller, r wire.LocateRequest) (wire.LocateResponse, error) {
		resp, err := s.Locate(r)
		s.mint.readable(c, resp.Blocks)
		return resp, err
	})
	asUser(s, srv, api.DFSUsage, alone(s.Usage))
	asUser(s, srv, api.DFSFsck, alone(s.Fsck))
	rpc.HandleQuick(srv, api.DFSNodes, func(rpc.Caller, none) ([]wire.StoreNode, error) { return s.Nodes(), nil })
}

// routeNodes adds the calls of nodes.
func (s *Service) routeNodes(srv *rpc.Server) {
	rpc.HandleQuick(srv, api.DFSRegister, func(c rpc.Caller, r wire.RegisterRequest) (wire.RegisterResponse, error) {
		if err := itself(c, r.Node); err != nil {
			return wire.RegisterResponse{}, err
		}
		resp, err := s.Register(r)
		resp.Keys = s.mint.tell(0)
		return resp, err
	})
	rpc.HandleQuick(srv, api.DFSReport, func(c rpc.Caller, r wire.ReportRequest) (none, error) {
		if err := itself(c, r.Node); err != nil {
			return none{}, err
		}
		return none{}, s.Report(r)
	})
	rpc.HandleQuick(srv, api.DFSBeat, func(c rpc.Caller, r wire.BeatRequest) (wire.BeatResponse, error) {
		if err := itself(c, r.Node); err != nil {
			return wire.BeatResponse{}, err
		}
		resp, err := s.Beat(r)
		return s.mint.orders(c, r, resp), err
	})
}

// itself keeps a node from speaking for another.
func itself(c rpc.Caller, name wire.NodeName) error {
	if c.Node != string(name) {
		return wire.Errorf(wire.Denied, "node %s speaks as node %s", c.Node, name)
	}
	return nil
}

// routeAdmins adds the calls of administrators.
func (s *Service) routeAdmins(srv *rpc.Server) {
	rpc.HandleQuick(srv, api.DFSSetQuota, func(_ rpc.Caller, r wire.QuotaRequest) (none, error) { return none{}, s.SetQuota(r) })
	rpc.HandleQuick(srv, api.DFSSafemode, func(c rpc.Caller, r wire.SafeModeRequest) (wire.SafeMode, error) {
		if r.Set != "" {
			if err := rpc.Admins.Check(c); err != nil {
				return wire.SafeMode{}, err
			}
		}
		return s.SafeMode(r)
	})
	rpc.HandleQuick(srv, api.DFSDrain, func(_ rpc.Caller, r wire.DrainRequest) (wire.StoreNode, error) { return s.Drain(r) })
	rpc.HandleQuick(srv, api.DFSBalance, func(_ rpc.Caller, r wire.BalanceRequest) (wire.BalanceStatus, error) { return s.Balance(r) })
}

type none = struct{}

// asUser adds a call that is made on a user's behalf. The server, never the client, says on whose. No handler
// can forget to ask.
func asUser[Req, Resp any, P interface {
	*Req
	wire.Behalf
}](s *Service, srv *rpc.Server, m rpc.Method[Req, Resp], fn func(rpc.Caller, Req) (Resp, error)) {
	rpc.HandleQuick(srv, m, func(c rpc.Caller, r Req) (Resp, error) {
		user, super := P(&r).Behalf()
		s.speak(c, user, super)
		return fn(c, r)
	})
}

// asHolder adds a call about an open file, which must belong to the caller.
func asHolder[Req, Resp any, P interface {
	*Req
	wire.Held
}](srv *rpc.Server, m rpc.Method[Req, Resp], fn func(rpc.Caller, Req) (Resp, error)) {
	rpc.HandleQuick(srv, m, func(c rpc.Caller, r Req) (Resp, error) {
		*P(&r).HeldBy() = by(c)
		return fn(c, r)
	})
}

// alone adapts a call that needs only its request.
func alone[Req, Resp any](fn func(Req) (Resp, error)) func(rpc.Caller, Req) (Resp, error) {
	return func(_ rpc.Caller, r Req) (Resp, error) { return fn(r) }
}

// silent adapts such a call that returns only an error.
func silent[Req any](fn func(Req) error) func(rpc.Caller, Req) (none, error) {
	return func(_ rpc.Caller, r Req) (none, error) { return none{}, fn(r) }
}

// speak puts into a request the user on whose behalf it is made, and whether that user may do everything.
func (s *Service) speak(c rpc.Caller, user *string, super *bool) {
	if c.Node == "" || *user == "" {
		*user = c.User
	}
	*super = s.cfg.Admins && c.Admin && c.Node == ""
}

// by is the user whose open files a caller may write; a node writes for all.
func by(c rpc.Caller) string {
	if c.Node != "" {
		return ""
	}
	return c.User
}
