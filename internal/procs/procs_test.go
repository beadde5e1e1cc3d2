package procs

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// TestMain lets this test stand in for programs that wait, and for one that starts another.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCS_TEST") {
	case "wait":
		time.Sleep(10 * time.Minute)
	case "parent":
		child := self("wait")
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString(strconv.Itoa(child.Process.Pid) + "\n")
		time.Sleep(10 * time.Minute)
	case "group":
		cmd := self("parent")
		cmd.Stdout = os.Stdout
		if _, err := Start(cmd); err != nil {
			os.Exit(1)
		}
		time.Sleep(10 * time.Minute)
	default:
		os.Exit(m.Run())
	}
}

func self(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCS_TEST="+what)
	return cmd
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: ", what)
		}
	}
}

func TestGroupEndsWhole(t *testing.T) {
	cmd := self("parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	group, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(line[:len(line)-1])
	if err != nil || !Alive(child) || !Alive(cmd.Process.Pid) {
		t.Fatal("they do not run", child, err)
	}
	group.Kill()
	if cmd.Wait() == nil {
		t.Error("the first of the group ended well")
	}
	until(t, "the second ends, too", func() bool { return !Alive(child) })
	group.Kill() // twice is allowed
}

// TestGroupEndsWithItsStarter: nobody can catch the signal, and what sleeps notices no closed pipe.
func TestGroupEndsWithItsStarter(t *testing.T) {
	cmd := self("group")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(line[:len(line)-1])
	if err != nil || !Alive(child) {
		t.Fatal("it does not run", child, err)
	}
	defer Kill(child)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "the group of a killed process ends", func() bool { return !Alive(child) })
	_ = cmd.Wait() // it was killed
}

func TestDetachedIsKilled(t *testing.T) {
	for _, end := range []func(int) error{Kill, func(pid int) error { Stop(pid); return nil }} {
		cmd := self("wait")
		Detach(cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		if Ended(pid) || !Alive(pid) {
			t.Error("it ended by itself")
		}
		if err := end(pid); err != nil {
			t.Error(err)
		}
		until(t, "it ends", func() bool { return Ended(pid) })
		if err := Kill(pid); err != nil {
			t.Errorf("killing what is gone: %v", err)
		}
	}
}

// TestKilledAndNotTakenLeaveOf: a process that has ended is not alive, though nobody has asked yet how: in a container that may be never.
func TestKilledAndNotTakenLeaveOf(t *testing.T) {
	cmd := self("wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it was killed
	if err := Kill(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); Alive(cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is alive")
		}
	}
}

func TestShellAndBroken(t *testing.T) {
	cmd := Shell("exit 3")
	_ = cmd.Run() // its code counts
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit 3 ended with %d", code)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); !Broken(err) {
		t.Errorf("a pipe that nobody reads: %v", err)
	}
}
