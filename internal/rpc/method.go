package rpc

import "context"

// A Method is a call: its name, who may make it, and the types of its request and response. Server and client use
// the same value.
type Method[Req, Resp any] struct {
	Name string
	Rule Rule
}

// Call calls the server at addr.
func (m Method[Req, Resp]) Call(ctx context.Context, c *Client, addr string, req Req) (Resp, error) {
	return Call[Req, Resp](ctx, c, addr, m.Name, req)
}
