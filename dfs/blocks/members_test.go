package blocks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// toldNames is a name service that knows some addresses, and counts who asks; with none it does not answer.
type toldNames struct {
	Names
	addrs []string
	asked int
}

func (n *toldNames) Nodes(context.Context) (list []wire.StoreNode, err error) {
	n.asked++
	for _, a := range n.addrs {
		list = append(list, wire.StoreNode{Place: wire.Place{Addr: a}})
	}
	if len(list) == 0 {
		err = errors.New("away")
	}
	return list, err
}

// TestMembers: who is known is believed for a minute without a question, however many pipelines there are; who is not is asked for at once, and no more
// than five times a second. A name service that is away changes nothing.
func TestMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &toldNames{addrs: []string{"old:1", "gone:1"}}
		s := NewService(openOn(t, memdisk.New()), Config{Node: "n1", Addr: "self:1", Names: names})
		time.Sleep(time.Second)
		want := func(addr string, known bool, asked int) {
			t.Helper()
			time.Sleep(time.Millisecond) // what was asked for in the same moment is fresh
			if got := s.Member(t.Context(), addr); got != known || names.asked != asked {
				t.Errorf("after %v: %s is known: %v after %d questions, want %v after %d", time.Since(s.begin), addr, got, names.asked, known, asked)
			}
		}
		want("self:1", true, 0)
		want("old:1", true, 1)
		for range 58 {
			want("old:1", true, 1)
			want("gone:1", true, 1)
			time.Sleep(time.Second)
		}
		names.addrs = []string{"old:1", "new:1"}
		want("new:1", true, 2)
		want("gone:1", false, 3)
		begin := time.Now()
		for i := range 10 {
			want("nobody:1", false, 4+i)
		}
		if took := time.Since(begin); took < 1900*time.Millisecond {
			t.Errorf("ten questions within %v", took)
		}
		time.Sleep(2 * time.Minute)
		want("old:1", true, 14)
		time.Sleep(2 * time.Minute)
		names.addrs = nil
		want("old:1", true, 15)
	})
}

// TestMembersWaitForNobody: who is known does not wait until others, who are not, have been asked for.
func TestMembersWaitForNobody(t *testing.T) {
	s := NewService(openOn(t, memdisk.New()), Config{Node: "n1", Names: &toldNames{addrs: []string{"old:1"}}})
	if !s.Member(t.Context(), "old:1") {
		t.Fatal("it is not known")
	}
	s.members.asking.Lock() // somebody asks
	defer s.members.asking.Unlock()
	known := make(chan bool, 1)
	go func() { known <- s.Member(t.Context(), "old:1") }()
	select {
	case ok := <-known:
		if !ok {
			t.Error("it is not known any more")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
}
