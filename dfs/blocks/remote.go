package blocks

import (
	"context"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// Remote is a name service in another process.
type Remote struct {
	Client *rpc.Client
	Addr   string
}

var _ Names = Remote{}

// Register calls the name service.
func (r Remote) Register(ctx context.Context, req wire.RegisterRequest) (wire.RegisterResponse, error) {
	return api.DFSRegister.Call(ctx, r.Client, r.Addr, req)
}

// Report calls the name service.
func (r Remote) Report(ctx context.Context, req wire.ReportRequest) error {
	_, err := api.DFSReport.Call(ctx, r.Client, r.Addr, req)
	return err
}

// Nodes calls the name service.
func (r Remote) Nodes(ctx context.Context) ([]wire.StoreNode, error) {
	return api.DFSNodes.Call(ctx, r.Client, r.Addr, struct{}{})
}

// Beat calls the name service.
func (r Remote) Beat(ctx context.Context, req wire.BeatRequest) (wire.BeatResponse, error) {
	return api.DFSBeat.Call(ctx, r.Client, r.Addr, req)
}
