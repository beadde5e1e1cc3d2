// Package wire holds what crosses between processes: error kinds and messages. It knows no sockets. internal/rpc
// carries its values as JSON, and returns a handler's error to the caller with its kind.
//
// Packages branch on kinds with errors.Is(err, wire.NotFound), never on text. The kinds NotFound, Exists and Denied
// also match fs.ErrNotExist, fs.ErrExist and fs.ErrPermission, so that code written for files need not know this
// package.
package wire
