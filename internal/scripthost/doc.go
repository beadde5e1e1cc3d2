// Package scripthost runs a policy's script in a process of its own, so that a script which loops, takes all memory or
// panics ends itself and not the master.
//
//	h, err := scripthost.Start(ctx, exec.Command(self, "script-host"), name, text, scripthost.Limits{})
//	policy := h.Policy()      // asks the process; one goroutine uses it
//	...
//	h.Close()
//
// The process calls [Serve]. Before it answers the first question, it checks in random situations that the script
// keeps what every policy promises. Whoever starts the process bounds its memory. A late answer, a script that takes
// more of the caller's time than allowed, and a process that has ended are errors of the policy (script.Policy.Err),
// which decides nothing from then on.
package scripthost
