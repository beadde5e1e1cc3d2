package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestBehalfIsTheServersWord: what the server says about a caller lands where handlers read it, and whether the caller may do everything
// cannot come from the caller.
func TestBehalfIsTheServersWord(t *testing.T) {
	for _, r := range []Behalf{
		&CreateRequest{}, &PathRequest{}, &ListRequest{}, &LocateRequest{}, &MkdirRequest{}, &RenameRequest{}, &RenameAllRequest{}, &DeleteRequest{},
		&SetRightsRequest{}, &SnapshotRequest{}, &SetReplicationRequest{}, &QuotaRequest{}, &FsckRequest{},
	} {
		if err := json.Unmarshal([]byte(`{"user":"eve","super":true,"Super":true}`), r); err != nil {
			t.Fatal(err)
		}
		fields := reflect.ValueOf(r).Elem()
		if fields.FieldByName("Super").Bool() {
			t.Errorf("%T: a client says that it may do everything", r)
		}
		user, super := r.Behalf()
		*user, *super = "ann", true
		if got := fields.FieldByName("User").String(); got != "ann" || !fields.FieldByName("Super").Bool() {
			t.Errorf("%T: made on behalf of %q, everything %t", r, got, fields.FieldByName("Super").Bool())
		}
	}
	for _, r := range []Held{&AddBlockRequest{}, &BumpRequest{}, &CompleteRequest{}, &LeaseRequest{}} {
		*r.HeldBy() = "ann"
		if got := reflect.ValueOf(r).Elem().FieldByName("By").String(); got != "ann" {
			t.Errorf("%T: held by %q", r, got)
		}
	}
}
