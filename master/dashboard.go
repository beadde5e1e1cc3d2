package master

import (
	"context"
	"net/http"

	"github.com/millrace/millrace/internal/rpc"
)

// lookerKey is the context key of the user who requested a page.
type lookerKey struct{}

// routeDashboard serves the dashboard, if there is one, on every path that has no other handler. The dashboard makes
// its calls in the name of the user who looks at it. Without a key that may be any user of this machine, as for all
// other calls.
func (m *Master) routeDashboard() {
	if m.cfg.Dashboard == nil {
		return
	}
	h := m.cfg.Dashboard(func(ctx context.Context, method string, req, resp any) error {
		c, _ := ctx.Value(lookerKey{}).(rpc.Caller)
		return m.server.Local(ctx, c, method, req, resp)
	})
	rule := rpc.Anyone
	if m.cfg.Key != nil {
		rule = rpc.Users
	}
	m.server.HandleHTTP("GET /", rule, rpc.Control, func(w http.ResponseWriter, r *http.Request, c rpc.Caller) {
		if m.cfg.Key == nil && c.User == "" {
			c.User, c.Admin = "dashboard", true
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lookerKey{}, c)))
	})
}
