// Package emulate makes transfers between processes of one machine as slow as the links of a topology: every node's
// card, and every rack's link to the core, which its nodes share. The processes share a file, mapped into memory,
// with what they have reserved on each link, so that none has to ask another.
//
//	links, err := emulate.Open("cluster/links")       // any process, in any order
//	s := &emulate.Shaper{Links: links, Rates: rates, Self: here, Locate: where}
//	rpc.ClientConfig{Shaper: s}                       // and ServerConfig
//
// If there is an optical switch, map output that is worth a circuit waits for one between its two racks, and uses
// nothing else. Each process records how much waits. The first to look in an interval chooses the circuits for all,
// as the simulator does ([flow.Switch]).
//
// The sender pays for the whole way; calls are free.
package emulate
