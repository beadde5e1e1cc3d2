// Package scripthost runs a policy's script in a process of its own, so that a script which loops, takes all memory or
// panics ends itself and not the master.
//
//	h, err := scripthost.Start(ctx, exec.Command(self, "script-host"), name, text, scripthost.Limits{})
//	policy := h.Policy()      // asks the process; one goroutine uses it
//	...
//	h.Close()
//
// The process calls [Serve]. Before it answers the first question it holds the script to what every policy promises, in random
// situations. Whoever starts it bounds its memory. An answer that comes too late, a script that takes more of the asker's
// time than it may, and a process that has ended are errors of the policy (script.Policy.Err), which decides nothing from then on.
package scripthost
