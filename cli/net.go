package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

func newNet() *cobra.Command {
	var m masterFlags
	var asJSON bool
	var watch time.Duration
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Show the network of a cluster: who sends to whom, how full links are, congestion",
		Example: `  millrace net
  millrace net --watch 1s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withClient(&m, func(cl *client.Client) error {
				for {
					s, err := cl.Net(cmd.Context())
					if err = answer(cmd, asJSON, &s, err, printNet); err != nil || watch <= 0 {
						return err
					}
					select {
					case <-cmd.Context().Done():
						return nil
					case <-time.After(watch):
					}
				}
			})
		},
	}
	m.define(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&watch, "watch", 0, "print again after this time, until interrupted")
	return cmd
}

func printNet(out io.Writer, s *wire.NetStatus) {
	s.Sort(human.Compare)
	racks := newTable(out, "rack", "uplink", "used up", "used down", "sent", "received", "state", "episodes", "congested")
	for _, r := range s.Racks {
		state := ""
		if r.Congested {
			state = "CONGESTED"
		}
		racks.AppendRow(table.Row{
			r.Rack, rate(r.Uplink), used(r.UpShare, r.Uplink), used(r.DownShare, r.Downlink), human.Bytes(r.UpBytes), human.Bytes(r.DownBytes), state, r.Episodes,
			human.Duration(time.Duration(r.CongestedMillis) * time.Millisecond),
		})
	}
	racks.Render()
	nodes := newTable(out, "node", "rack", "used up", "used down", "sent", "of it shuffle", "of it blocks", "received", "idle", "round trip")
	for _, n := range s.Nodes {
		nodes.AppendRow(table.Row{
			n.Node, n.Rack, used(n.UpShare, n.NIC), used(n.DownShare, n.NIC), human.Bytes(n.UpBytes), human.Bytes(n.Sent["shuffle"]), human.Bytes(n.Sent["block"]),
			human.Bytes(n.DownBytes), idleText(n.Idle), rttText(n.RTT),
		})
	}
	nodes.Render()
	printMatrix(out, s)
	printCircuits(out, s)
	circuits := int64(0)
	for _, n := range s.Nodes {
		circuits += n.Sent[wire.CircuitTraffic]
	}
	if circuits > 0 {
		fmt.Fprintf(out, "by circuits between racks %s, which no card and no uplink has carried\n", human.Bytes(circuits))
	}
	fmt.Fprintf(out, "between racks %s, inside racks %s; %d episodes of congestion (a link used over %.0f %%)\n",
		human.Bytes(s.CrossRack), human.Bytes(s.InRack), s.Episodes, 100*s.Threshold)
	if len(s.Racks) > 0 && s.Racks[0].Uplink == 0 {
		fmt.Fprintln(out, "The rates of the links are not known: start the master with --topology FILE to see how full they are.")
	}
}

// printCircuits shows which racks an optical switch joins.
func printCircuits(out io.Writer, s *wire.NetStatus) {
	if s.CircuitMillis == 0 {
		return
	}
	t := newTable(out, "circuit from", "to")
	for _, r := range s.Racks {
		if r.Circuit != "" {
			t.AppendRow(table.Row{r.Rack, r.Circuit})
		}
	}
	if t.Length() > 0 {
		t.Render()
	} else {
		fmt.Fprintln(out, "no rack had a circuit when its workers reported last")
	}
	fmt.Fprintf(out, "circuits are matched anew every %s, next in %s\n", human.Duration(time.Duration(s.CircuitMillis)*time.Millisecond), human.Duration(time.Duration(s.RematchMillis)*time.Millisecond))
}

// printMatrix shows who sends to whom; more bytes are darker.
func printMatrix(out io.Writer, s *wire.NetStatus) {
	if len(s.Racks) < 2 {
		return
	}
	head := []any{"from \\ to"}
	most := int64(1)
	for _, r := range s.Racks {
		head = append(head, r.Rack)
		for _, n := range r.To {
			most = max(most, n)
		}
	}
	t := newTable(out, head...)
	for _, r := range s.Racks {
		row := table.Row{r.Rack}
		for _, n := range r.To {
			row = append(row, shade(n, most)+" "+human.Bytes(n))
		}
		t.AppendRow(row)
	}
	t.Render()
}

func shade(n, most int64) string {
	const steps = "·░▒▓█"
	i := int(n * 4 / most)
	if n > 0 && i == 0 {
		i = 1
	}
	return string([]rune(steps)[i])
}

func rate(bytes float64) string {
	if bytes == 0 {
		return "?"
	}
	return topology.Rate(bytes).String()
}

func used(share, rate float64) string {
	if rate == 0 {
		return "?"
	}
	bar := min(10, int(share*10+0.5))
	return fmt.Sprintf("%s%s %3.0f %%", strings.Repeat("█", bar), strings.Repeat("·", 10-bar), 100*share)
}

func idleText(idle float64) string {
	if idle < 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", idle)
}

func rttText(us int64) string {
	if us == 0 {
		return "?"
	}
	return (time.Duration(us) * time.Microsecond).String()
}

func newQueue() *cobra.Command {
	cmd := &cobra.Command{Use: "queue", Short: "Look at the queues of a cluster", Example: "  millrace queue ls"}
	var m masterFlags
	m.define(cmd)
	cmd.AddCommand(newLs(&m, "List queues: their jobs, and who may use them", "  millrace queue ls --json", (*client.Client).Queues,
		[]any{"queue", "waiting", "running", "succeeded", "failed", "attempts run", "tasks left", "may submit", "may administer"}, func(q wire.QueueStatus) table.Row {
			return table.Row{
				human.Printable(q.Queue), q.Waiting, q.Running, q.Succeeded, q.Failed, q.Tasks, q.Pending,
				userList(q.Submit), userList(q.Admin),
			}
		}))
	return cmd
}

func userList(list []string) string {
	if len(list) == 0 {
		return "administrators"
	}
	return human.Printable(strings.Join(list, ", "))
}
