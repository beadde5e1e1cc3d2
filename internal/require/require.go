package require

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// Env names the variable that lists what must not be missing.
const Env = "MILLRACE_REQUIRE"

// Tool requires a program, such as mawk, zstd or docker, and returns its path.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name, "the program "+name+" is not installed")
	}
	return path
}

// Root requires the rights of root.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root", "the test does not run as root")
	}
}

// Stress skips a long test unless MILLRACE_STRESS is set (make stress).
func Stress(t testing.TB) {
	t.Helper()
	if !Stressed() {
		t.Skip("a long test: set MILLRACE_STRESS=1 (make stress)")
	}
}

// Faults skips a test that breaks a cluster and waits for its recovery, unless MILLRACE_FAULTS or MILLRACE_STRESS is
// set (make faults). CI runs them all; together they take minutes.
func Faults(t testing.TB) {
	t.Helper()
	if os.Getenv("MILLRACE_FAULTS") == "" && !Stressed() {
		t.Skip("a fault that takes its time: set MILLRACE_FAULTS=1 (make faults)")
	}
}

// Stressed reports whether long tests are wanted: the same test may then do more.
func Stressed() bool { return os.Getenv("MILLRACE_STRESS") != "" }

func missing(t testing.TB, name, reason string) {
	t.Helper()
	if Required(name, os.Getenv(Env)) {
		t.Fatalf("%s, but %s lists %q", reason, Env, name)
	}
	t.Skipf("skipped: %s", reason)
}

// Required reports whether a comma-separated list contains a name.
func Required(name, list string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		return strings.TrimSpace(s) == name
	})
}

// Chromium requires a browser that starts, and returns its path.
func Chromium(t testing.TB) string {
	t.Helper()
	path := Tool(t, "chromium")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--dump-dom", "about:blank")
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "<html>") {
		missing(t, "chromium", fmt.Sprintf("chromium does not start: %v", err))
	}
	return path
}

// Docker requires a running Docker engine with compose. Such tests make images and containers, so they run
// only on request.
func Docker(t testing.TB) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv(Env), ","), "docker") {
		t.Skipf("it makes containers: set %s=docker to run it", Env)
	}
	if err := exec.Command("docker", "info").Run(); err != nil {
		missing(t, "docker", "docker info: "+err.Error())
	}
	plugin, standalone := exec.Command("docker", "compose", "version").Run(), exec.Command("docker-compose", "version").Run()
	if plugin != nil && standalone != nil {
		missing(t, "docker", "docker compose version: "+plugin.Error())
	}
}

// Hadoop requires Java, and the directory of Hadoop's jars that a variable names, and returns it.
func Hadoop(t testing.TB, variable string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		missing(t, "hadoop", variable+" names no directory with Hadoop's jars (make hadoop-jars)")
	}
	if _, err := exec.LookPath("java"); err != nil {
		missing(t, "hadoop", "java is not installed")
	}
	return dir
}
