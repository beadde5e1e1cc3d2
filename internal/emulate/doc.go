// Package emulate makes transfers between processes of one machine as slow as the links of a
// topology: every node's card, and every rack's link to the core, which its nodes share. The
// processes share what each link has promised through a file that all of them map into memory, so
// that no process has to ask another.
//
//	links, err := emulate.Open("cluster/links")       // any process, in any order
//	s := &emulate.Shaper{Links: links, Rates: rates, Self: here, Locate: where}
//	rpc.ClientConfig{Shaper: s}                       // and ServerConfig
//
// The sender pays for the whole way; calls are free.
package emulate
