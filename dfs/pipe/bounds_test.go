package pipe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestRangesOfRequests: a request for no bytes, for bytes before the block, or for more than can be counted is refused.
func TestRangesOfRequests(t *testing.T) {
	for query, ok := range map[string]bool{
		"gen=1&off=0&len=1":                             true,
		"gen=1&off=9223372036854775806&len=1":           true,
		"gen=1&off=9223372036854775807&len=1":           false,
		"gen=1&off=1&len=9223372036854775807":           false,
		"gen=1&off=-1&len=5":                            false,
		"gen=1&off=0&len=0":                             false,
		"gen=1&off=5&len=-3":                            false,
		"gen=x&off=0&len=1":                             false,
		"gen=1&off=x&len=1":                             false,
		"gen=1&off=0&len=x":                             false,
		"gen=1&off=0":                                   false,
		"gen=18446744073709551615&off=0&len=1&token=a=": true,
	} {
		for id, fine := range map[string]bool{"7": true, "18446744073709551615": true, "x": false, "-1": false} {
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/blocks/x", RawQuery: query}}
			r.SetPathValue("id", id)
			if got, err := ParseFetch(r); (err == nil) != (ok && fine) || err != nil && wire.KindOf(err) != wire.Invalid {
				t.Errorf("block %s, %s: %+v, %v", id, query, got, err)
			}
		}
	}
}

// TestSealedNonsense: what has the right checksums and yet cannot be is damage.
func TestSealedNonsense(t *testing.T) {
	for what, spoil := range map[string]func(b *Buffer){
		"longer than a chunk":  func(b *Buffer) { binary.LittleEndian.PutUint32(b[0:], ChunkSize+1) },
		"before the beginning": func(b *Buffer) { binary.LittleEndian.PutUint64(b[8:], 1<<63) },
		"an unknown flag":      func(b *Buffer) { b[16] = lastFlag + 1 },
		"other bytes":          func(b *Buffer) { b[packetHeader]++ },
		"":                     func(*Buffer) {},
	} {
		var b, got Buffer
		b.Seal(copy(b.Room(), "data"), 65536, true)
		spoil(&b)
		binary.LittleEndian.PutUint32(b[20:], Checksum(b[:20]))
		_, err := ReadPacket(bytes.NewReader(b[:]), &got)
		if what == "" && err != nil || what != "" && (wire.KindOf(err) != wire.Corrupt || err == nil) {
			t.Errorf("a packet %q: %v", what, err)
		}
	}
	for what, spoil := range map[string]func(raw []byte){
		"an unknown state": func(raw []byte) { raw[8] = 3 },
		"too long a text":  func(raw []byte) { binary.LittleEndian.PutUint32(raw[12:], 1<<12+1) },
		"":                 func([]byte) {},
	} {
		raw := append((&Ack{Off: 7}).Append(nil), make([]byte, 1<<12+1)...)
		spoil(raw)
		n := binary.LittleEndian.Uint32(raw[12:])
		binary.LittleEndian.PutUint32(raw[16:], Extend(Checksum(raw[:16]), raw[ackHeader:ackHeader+n]))
		_, err := ReadAck(bytes.NewReader(raw))
		if what == "" && err != nil || what != "" && (wire.KindOf(err) != wire.Corrupt || err == nil) {
			t.Errorf("an acknowledgement with %q: %v", what, err)
		}
	}
	long := Ack{Failed: true, Text: strings.Repeat("x", 1<<13)}
	if a, err := ReadAck(bytes.NewReader(long.Append([]byte("before"))[6:])); err != nil || len(a.Text) != 1<<12 {
		t.Errorf("a text of 8 KiB comes as %d bytes, %v", len(a.Text), err)
	}
	full := new(Buffer).Seal(ChunkSize, 0, false)
	if _, err := ReadPacket(bytes.NewReader(full.raw), new(Buffer)); err != nil {
		t.Errorf("a whole chunk: %v", err)
	}
	if _, err := ReadPacket(bytes.NewReader(full.raw[:1000]), new(Buffer)); wire.KindOf(err) != wire.Unavailable || err == nil {
		t.Errorf("a chunk that is cut: %v", err)
	}
}

// TestAcknowledgements: a sender believes what can be: not more than was sent, not less than before, no end before the last packet. An answer is owed until
// all is acknowledged and, after the last packet, until the end.
func TestAcknowledgements(t *testing.T) {
	for what, x := range map[string]struct {
		sent, acked int64
		last        bool
		a           Ack
		ok, owed    bool
	}{
		"some":                  {10, 0, false, Ack{Off: 5}, true, true},
		"as before":             {10, 5, false, Ack{Off: 5}, true, true},
		"all":                   {10, 5, false, Ack{Off: 10}, true, false},
		"all, but not the end":  {10, 5, true, Ack{Off: 10}, true, true},
		"the end":               {10, 5, true, Ack{Off: 10, Done: true}, true, false},
		"more than was sent":    {10, 5, true, Ack{Off: 11}, false, false},
		"less than before":      {10, 5, false, Ack{Off: 4}, false, false},
		"an end without a last": {10, 5, false, Ack{Off: 10, Done: true}, false, false},
	} {
		told := 0
		s := &Sender{sent: x.sent, acked: x.acked, last: x.last, notify: func() { told++ }}
		s.changed.L = &s.mu
		err := s.take(x.a)
		if (err == nil) != x.ok || !x.ok && wire.KindOf(err) != wire.Corrupt {
			t.Errorf("%s: %v", what, err)
		}
		if acked, done, _ := s.State(); x.ok && (acked != x.a.Off || done != x.a.Done || told != 1 || s.owed.IsZero() == x.owed) {
			t.Errorf("%s: %d acknowledged, the end %t, told %d times, owed since %v", what, acked, done, told, s.owed)
		}
	}
}

// TestWhatAReplicaSays: a replica speaks for itself and for those behind it: what all have, and the first that failed.
func TestWhatAReplicaSays(t *testing.T) {
	full := &Broken{0, wire.NoSpace, "full"}
	for what, x := range map[string]struct {
		r    *receiver
		next *Sender
		want Ack
	}{
		"alone":                {&receiver{own: 10}, nil, Ack{Off: 10}},
		"alone, at the end":    {&receiver{own: 10, ended: true}, nil, Ack{Off: 10, Done: true}},
		"the next is behind":   {&receiver{own: 10, ended: true}, &Sender{acked: 4}, Ack{Off: 4}},
		"the next is ahead":    {&receiver{own: 10}, &Sender{acked: 20, done: true}, Ack{Off: 10}},
		"all are at the end":   {&receiver{own: 10, ended: true}, &Sender{acked: 10, done: true}, Ack{Off: 10, Done: true}},
		"it failed":            {&receiver{own: 10, failed: full}, &Sender{acked: 20}, Ack{Off: 10, Failed: true, Kind: wire.NoSpace, Text: "full"}},
		"the next failed":      {&receiver{own: 10}, &Sender{acked: 4, err: full}, Ack{Off: 4, Failed: true, At: 1, Kind: wire.NoSpace, Text: "full"}},
		"both: its own counts": {&receiver{own: 10, failed: full}, &Sender{err: &Broken{1, wire.Corrupt, "bad"}}, Ack{Failed: true, Kind: wire.NoSpace, Text: "full"}},
	} {
		x.r.next = x.next
		if got := x.r.state(); got != x.want {
			t.Errorf("%s: %+v, want %+v", what, got, x.want)
		}
	}
	r := &receiver{own: 2 * ackBytes}
	for told, wait := range map[int64]bool{ackBytes: false, ackBytes + 1: true, 0: false, 2 * ackBytes: true} {
		if r.canWait(told) != wait {
			t.Errorf("%d bytes more than were told can wait: %t", r.own-told, !wait)
		}
	}
	if (&receiver{ended: true}).canWait(0) || (&receiver{failed: full}).canWait(0) {
		t.Error("the end, or a failure, waits")
	}
	r.giveUp(errors.New("first"))
	if r.giveUp(full); r.failed.Text != "first" {
		t.Errorf("the first failure counts, not %v", r.failed)
	}
}

// TestPatience: the farther from the end of a pipeline, the more patient; and more so where replicas must fetch something before they answer.
func TestPatience(t *testing.T) {
	for behind, want := range map[int]time.Duration{0: time.Second, 1: 1500 * time.Millisecond, 2: 2 * time.Second} {
		if got := (Timing{}).ack(behind); got != want {
			t.Errorf("with %d behind it: %v, want %v", behind, got, want)
		}
		if got := (Timing{Ack: 4 * time.Second}).ack(behind); got != 4*want {
			t.Errorf("with %d behind it: %v, want %v", behind, got, 4*want)
		}
	}
	if (Timing{}).disk() != time.Minute || (Timing{Disk: 5}).disk() != 5 {
		t.Error("a disk gets another time than was said")
	}
	at := &wire.Place{Node: "n"}
	for what, x := range map[string]struct {
		a    WriteArgs
		more bool
	}{
		"a new block":      {WriteArgs{Next: []Hop{{}, {}}}, false},
		"resumed":          {WriteArgs{Resume: true}, true},
		"it must fetch":    {WriteArgs{From: at}, true},
		"another must":     {WriteArgs{Next: []Hop{{}, {From: at}}}, true},
		"nobody is behind": {WriteArgs{}, false},
	} {
		if got := x.a.patience(); (got > 0) != x.more {
			t.Errorf("%s: %v more", what, got)
		}
	}
	a := WriteArgs{Resume: true, From: at, Next: []Hop{{Place: wire.Place{Node: "a"}}, {Place: wire.Place{Node: "b"}, From: at}}, Token: "t"}
	if b := a.Behind(); b.From != nil || len(b.Next) != 1 || b.Next[0].Node != "b" || !b.Resume || b.Token != "t" || b.Behind().From != at {
		t.Errorf("behind it: %+v", b)
	}
}

// TestHeadsThatCannotBegin: if the replicas behind cannot be reached, the one here is left alone, and the failure is theirs. After the last packet none is taken.
func TestHeadsThatCannotBegin(t *testing.T) {
	left := 0
	for _, x := range []struct {
		err error
		at  int
	}{{&Broken{1, wire.NoSpace, "full"}, 2}, {errors.New("gone"), 0}} {
		_, err := NewHead(0, &memReplica{}, Timing{}, func(func()) (*Sender, error) { return nil, x.err }, func() { left++ })
		if b, ok := errors.AsType[*Broken](err); !ok || b.At != x.at {
			t.Errorf("%v: %v", x.err, err)
		}
	}
	if left != 2 {
		t.Errorf("left alone %d times", left)
	}
	h := newTestHead(t, &memReplica{})
	if err := sendAll(h, []byte("all")); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(0, true); err != nil {
		t.Fatal(err)
	}
	<-h.gone
	var err error
	for range cap(h.in) + 1 { // some may wait where nobody takes them
		p := new(Buffer).Seal(1, 3, false)
		if err = h.Send(&p); err != nil {
			break
		}
	}
	if b, ok := errors.AsType[*Broken](err); !ok || b.Kind != wire.Invalid {
		t.Errorf("a packet after the last: %v", err)
	}
	h.Close()
}

// TestUpstreamThatDoesNotRead: whoever stops reading acks loses the connection, and the replica does not wait for it.
func TestUpstreamThatDoesNotRead(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	r := &receiver{up: &rpc.Stream{Conn: near}, timing: Timing{Ack: 20 * time.Millisecond}, poke: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() { ended <- r.sendAcks(make(chan struct{})) }()
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits for somebody to read its ack")
	}
	if _, err := near.Write([]byte{0}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is still open: %v", err)
	}
}
