// Package emulate makes transfers between processes of one machine as slow as the links of a
// topology: every node's card, and every rack's link to the core, which its nodes share. The
// processes share what each link has promised through a file that all of them map into memory, so
// that no process has to ask another.
//
//	links, err := emulate.Open("cluster/links")       // any process, in any order
//	s := &emulate.Shaper{Links: links, Rates: rates, Self: here, Locate: where}
//	rpc.ClientConfig{Shaper: s}                       // and ServerConfig
//
// Where there is an optical switch, map output that is worth a circuit waits for one between its two racks, and uses nothing else.
// Who waits says how much; the first to look in an interval chooses the circuits for all, as the simulator does ([flow.Switch]).
//
// The sender pays for the whole way; calls are free.
package emulate
