// Package flow simulates a network at the level of flows: who sends how many bytes to
// whom, and how fast. It is pure: times and bytes go in, ends of flows come out.
//
// Every node has a card with a rate in and a rate out, every rack a link to and from a
// core that never blocks; full bisection inside a rack. Rates are max-min fair over the
// links that a flow crosses (spec/nas 2.3). Beside the packet network there may be an
// optical switch, which joins racks in pairs that are chosen anew every interval by
// maximum-weight matching (spec/jobpacker 2.1, 3.2).
//
// The calls that matter:
//
//	n, err := flow.New(topo, flow.Config{})
//	id := n.Start(now, flow.Spec{From: flow.Node(3), To: flow.Node(9), Bytes: 1e9, Tag: 7})
//	at := n.Next()                  // when something ends, Never if nothing does
//	tag, ok := n.Done(at)           // until ok is false
//
// The caller never lets time run past Next without calling Done. Flows of the same path
// form a class that shares one clock, so that a change costs the classes that are
// active and not the flows. A whole rack may be an end of a flow: many senders or
// receivers that one aggregated flow stands for.
package flow
