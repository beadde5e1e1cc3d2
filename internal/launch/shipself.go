package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/program"
)

// ShipSelf puts the executable of this process into the block store, from where workers run it. If no worker can
// start it, because it asks for a loader that they do not have or is for another system, the go command builds it
// once more, if its source is here. ShipSelf tells the user so on out.
func ShipSelf(ctx context.Context, cl *client.Client, out io.Writer) (path, hash string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("this program does not know where it is: %w", err)
	}
	var misfit *program.Misfit
	switch err := starts(ctx, cl, exe); {
	case errors.As(err, &misfit):
		fmt.Fprintf(out, "this program cannot run on the cluster as it is: %v\n", err)
		dir, err := os.MkdirTemp("", "millrace-build-")
		if err != nil {
			return "", "", err
		}
		defer os.RemoveAll(dir)
		info, _ := debug.ReadBuildInfo()
		if exe, err = rebuild(ctx, info, dir, misfit.Build, out); err != nil {
			return "", "", fmt.Errorf("%w; building it here failed: %w", misfit, err)
		}
	case err != nil:
		return "", "", err
	}
	return cl.Ship(ctx, exe)
}

// starts returns nil if a worker that is up can start the executable, or if none is up.
func starts(ctx context.Context, cl *client.Client, exe string) error {
	nodes, err := cl.Nodes(ctx)
	if err != nil {
		return err
	}
	f, err := os.Open(exe)
	if err != nil {
		return err
	}
	defer f.Close()
	needs, err := program.Read(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", exe, err)
	}
	var up []program.Machine
	for _, n := range nodes {
		if n.State != "down" {
			up = append(up, program.Machine{Platform: n.Platform, Lacks: n.Lacks})
		}
	}
	return needs.Start(up)
}

// rebuild builds a program in dir from the source that the go command finds for it in the working directory.
func rebuild(ctx context.Context, info *debug.BuildInfo, dir string, env []string, out io.Writer) (exe string, err error) {
	if info == nil || info.Path == "" || info.Path == "command-line-arguments" {
		return "", errors.New("the program does not know its package; build and run it as a package (go run .), not as a file")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("there is no go command here")
	}
	exe = filepath.Join(dir, filepath.Base(info.Path))
	fmt.Fprintf(out, "building %s once more with %s\n", info.Path, strings.Join(env, " "))
	cmd := exec.CommandContext(ctx, tool, append(append([]string{"build", "-o", exe}, buildFlags(info)...), info.Path)...)
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w: %s", info.Path, err, firstLines(string(said), 5))
	}
	return exe, nil
}

// buildFlags returns the flags of the go command with which a program was built and that change what it does.
func buildFlags(info *debug.BuildInfo) (flags []string) {
	for _, s := range info.Settings {
		if s.Key == "-tags" || s.Key == "-ldflags" || s.Key == "-trimpath" {
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}

// firstLines returns at most n lines of a text, in one.
func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], "; ")
}
