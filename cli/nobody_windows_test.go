package cli

import "os/exec"

// becomeNobody is never called: nobody is user 0 here.
func becomeNobody(*exec.Cmd) {}
