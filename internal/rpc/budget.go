package rpc

import (
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A Budget bounds what callers can make a server hold. Nodes are trusted and not counted. Others are counted by
// user, tasks by job, and callers without a name by address. A zero field means its default. A server without TLS
// believes what callers say, and all callers of a machine share few names, so there the defaults for one caller are
// those for all.
type Budget struct {
	// Conns is how many connections one caller may have; 0 means 256. The tasks of a job may have 16 times as many.
	// Larger: more work at once, about 50 kB of memory each.
	Conns int
	// Calls is how many calls of one caller may be under way; 0 means 4 for each allowed connection.
	Calls int
	// Bytes is the total size of one caller's requests that are read or under way, counted twice because they are
	// decoded, and of its pending answers; 0 means 24 MiB. The tasks of a job may have twice as much.
	Bytes int64
	// Total is the same for all callers together. The first 64 KiB of a message are free. 0 means 256 MiB.
	Total int64
	// Message bounds a request of a user; 0 means 4 MiB. Nodes and tasks have ServerConfig.MaxMessage.
	Message int
	// Strangers is how many connections may be unauthenticated; 0 means 256. If there are more, the oldest ones of
	// the address with the most are closed.
	Strangers int
	// Rate is the minimum rate of a message in bytes per second; 0 means 8 KiB. Larger: slow networks fail.
	Rate int64
	// Grace is the time that a message may take beside its size divided by Rate; 0 means 10 s.
	Grace time.Duration
	// Idle is how long a connection may have no call under way; 0 means 5 minutes.
	Idle time.Duration
}

// smallMessage is how much of a message does not count in the total.
const smallMessage = 64 << 10

func (b Budget) withDefaults(trusting bool, maxMessage int) Budget {
	set := func(n *int64, strict, open int64) {
		if *n == 0 && trusting {
			*n = open
		} else if *n == 0 {
			*n = strict
		}
	}
	conns, message, strangers := int64(b.Conns), int64(b.Message), int64(b.Strangers)
	set(&conns, 256, 8192)
	set(&message, min(4<<20, int64(maxMessage)), int64(maxMessage))
	set(&strangers, 256, 256)
	calls := int64(b.Calls)
	set(&calls, 4*conns, 4*conns)
	b.Conns, b.Message, b.Strangers, b.Calls = int(conns), int(message), int(strangers), int(calls)
	set(&b.Total, 256<<20, 256<<20)
	set(&b.Bytes, 24<<20, b.Total)
	set(&b.Rate, 8<<10, 8<<10)
	set((*int64)(&b.Grace), int64(10*time.Second), int64(10*time.Second))
	set((*int64)(&b.Idle), int64(5*time.Minute), int64(5*time.Minute))
	return b
}

// limit returns the size limit of a caller's requests.
func (b *Budget) limit(c Caller, maxMessage int) int {
	if c.Node != "" || c.Job != "" {
		return maxMessage
	}
	return b.Message
}

// allowed returns how long n bytes may take.
func (b *Budget) allowed(n int) time.Duration {
	return b.Grace + time.Duration(int64(n)*int64(time.Second)/b.Rate)
}

// A holding is what is counted.
type holding struct {
	conns, calls int
	bytes        int64 // of messages
	large        int64 // those bytes that count in the total
}

// message returns what n bytes of one message count as.
func message(n, times int) holding {
	return holding{bytes: int64(n) * int64(times), large: max(0, int64(n)-smallMessage) * int64(times)}
}

func (h holding) plus(o holding, sign int) holding {
	return holding{
		h.conns + sign*o.conns, h.calls + sign*o.calls,
		h.bytes + int64(sign)*o.bytes, h.large + int64(sign)*o.large,
	}
}

// An account identifies for whom something is counted. The zero account is for nodes, which are not counted.
type account struct {
	name  string
	tasks bool
}

func accountOf(c Caller) account {
	switch {
	case c.Node != "":
		return account{}
	case c.Job == "" && c.User == "":
		return account{name: "a caller at " + hostOf(c.Addr)}
	}
	return account{c.name(), c.Job != ""}
}

// books record what callers hold.
type books struct {
	budget Budget

	mu       sync.Mutex // guards the fields below
	large    int64      // of all accounts
	accounts map[account]holding
}

// take adds something to an account, or returns why not.
func (b *books) take(a account, h holding) error {
	if a.name == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.accounts[a].plus(h, 1)
	if what := b.excess(a, h, now); what != "" {
		return wire.Errorf(wire.Unavailable, "%s has too many %s under way here: wait for some of them to end", a.name, what)
	}
	if b.large+h.large > b.budget.Total {
		return wire.Errorf(wire.Unavailable, "the server is busy with large messages: try again")
	}
	b.large += h.large
	b.accounts[a] = now
	return nil
}

// excess returns what an account would have too much of. Only what is added counts.
func (b *books) excess(a account, add, now holding) string {
	conns, calls, bytes := b.budget.Conns, b.budget.Calls, b.budget.Bytes
	if a.tasks {
		conns, calls, bytes = 16*conns, 16*calls, 2*bytes
	}
	switch {
	case add.conns > 0 && now.conns > conns:
		return "connections"
	case add.calls > 0 && now.calls > calls:
		return "calls"
	case add.bytes > 0 && now.bytes > bytes:
		return "bytes of messages"
	}
	return ""
}

// give removes something from an account.
func (b *books) give(a account, h holding) {
	if a.name == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.large -= h.large
	if now := b.accounts[a].plus(h, -1); now == (holding{}) {
		delete(b.accounts, a)
	} else {
		b.accounts[a] = now
	}
}
