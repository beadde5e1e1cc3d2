package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

func (d *dfsCommand) newNodes() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "nodes", Short: "List the nodes that keep blocks, and their disks",
		Example: "  millrace dfs nodes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return d.with(cmd, func(s *session) error {
				list, err := s.Nodes(s.ctx)
				return answer(cmd, asJSON, list, err, printNodes)
			})
		},
	}
	return withJSON(cmd, &asJSON, "a JSON array")
}

func printNodes(w io.Writer, list []wire.StoreNode) {
	t := newTable(w, "node", "rack", "state", "blocks", "free", "of", "address", "remarks")
	for _, n := range list {
		var free, total int64
		var remarks strings.Builder
		for _, v := range n.Volumes {
			free, total = free+v.Free, total+v.Total
			if v.Failed != "" {
				remarks.WriteString("failed: " + human.Printable(v.Failed) + " ")
			}
		}
		if n.Left > 0 {
			remarks.WriteString(human.Many(int64(n.Left), "block") + " left to copy")
		}
		t.AppendRow(table.Row{n.Node, n.Rack, n.State, n.Blocks, human.Bytes(free), human.Bytes(total), n.Addr, strings.TrimSpace(remarks.String())})
	}
	t.Render()
}

func (d *dfsCommand) newDrain() *cobra.Command {
	var wait, force bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Copy a node's blocks elsewhere, so that it can be switched off",
		Long: `Copy a node's blocks elsewhere, so that it can be switched off. It gets no new blocks meanwhile. When its state is
"drained" every block it has is on enough other nodes.`,
		Example: "  millrace dfs drain w3 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				err := s.DrainNode(s.ctx, wire.DrainRequest{Node: wire.NodeName(args[0]), Force: force})
				if err != nil || !wait {
					return err
				}
				return s.awaitDrained(args[0], timeout)
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all blocks are elsewhere")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Hour, "how long to wait")
	cmd.Flags().BoolVar(&force, "force", false, "even if fewer nodes stay than there should be copies")
	return cmd
}

// awaitDrained waits until everything on a node is elsewhere, too.
func (s *session) awaitDrained(node string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	for {
		list, err := s.Nodes(s.ctx)
		if err != nil {
			return err
		}
		var left int64
		for _, n := range list {
			if string(n.Node) == node {
				if left = n.Left; n.State != "draining" {
					return stateAfterDrain(n)
				}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s still has %s not elsewhere", node, human.Many(int64(left), "block"))
		case <-time.After(pollEvery):
		}
	}
}

func stateAfterDrain(n wire.StoreNode) error {
	if n.State != "drained" {
		return fmt.Errorf("node %s is %s: not all of its blocks may be elsewhere (millrace dfs fsck tells)", n.Node, n.State)
	}
	return nil
}

func (d *dfsCommand) newUndrain() *cobra.Command {
	return &cobra.Command{
		Use: "undrain NODE", Short: "Take a drained node back into service",
		Example: "  millrace dfs undrain w3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error { return s.Drain(s.ctx, args[0], true) })
		},
	}
}
