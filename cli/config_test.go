package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func runQuiet(cmd *cobra.Command, args ...string) (string, error) {
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func TestConfigPrintIsAConfiguration(t *testing.T) {
	text, err := runQuiet(newConfig(), "print")
	if err != nil {
		t.Fatal(err)
	}
	name := writeFile(t, text)
	for section, cmd := range map[string]*cobra.Command{"master": newMaster(), "worker": newWorker()} {
		c := configured{section: section, file: name}
		if err := c.load(cmd); err != nil {
			t.Errorf("%s: %v", section, err)
		}
		for _, key := range settingsOf(cmd.Flags()) {
			if !strings.Contains(text, "\n  "+key+": ") {
				t.Errorf("%s.%s is not printed", section, key)
			}
		}
	}
	open := strings.ReplaceAll(strings.ReplaceAll(text, "\n#", "\n"), " Who may", "# Who may")
	open = open[strings.Index(open, "queues:"):]
	if _, _, err := readConfig(writeFile(t, open)); err != nil {
		t.Errorf("the example of queues: %v", err)
	}
}

func TestConfigGoesBelowVariablesAndFlags(t *testing.T) {
	name := writeFile(t, "master:\n  listen: 127.0.0.1:1\n  policy: fifo\n  admission: cbt\n  param: [a=1, b=2]\n  replication: 2\n")
	t.Setenv("MILLRACE_MASTER_POLICY", "capacity")
	t.Setenv("MILLRACE_MASTER_ADMISSION", "static")
	cmd := newMaster()
	if err := cmd.ParseFlags([]string{"--admission", "cbtws"}); err != nil {
		t.Fatal(err)
	}
	c := configured{section: "master", file: name}
	if err := c.load(cmd); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"listen": "127.0.0.1:1", "policy": "capacity", "admission": "cbtws", "param": "[a=1,b=2]", "replication": "2"} {
		if got := cmd.Flags().Lookup(key).Value.String(); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

// Each wrong file is refused by the name of what is wrong and where.
func TestWrongConfigurations(t *testing.T) {
	cases := []struct{ text, want string }{
		{"mster:\n  dir: x\n", "mster"},
		{"master:\n  lissten: x\n", `:2: master has no setting "lissten"; there are`},
		{"master:\n  dir: x\n  help: x\n", `:3: master has no setting "help"`},
		{"master:\n  replication: many\n", ":2: master.replication"},
		{"master:\n  replication: [1, 2, x]\n", ":2: master.replication"},
		{"master:\n  replication:\n    a: b\n", "master.replication: must be a text"},
		{"master:\n  replication:\n", "master.replication: must be a text"},
		{"master:\n  block-size: huge\n", "master.block-size"},
		{"master:\n  insecure: maybe\n", "master.insecure"},
		{"master:\n  param: [1]\n", "must be name=value"},
		{"master:\n  policy: fairest\n", "fairest"},
		{"master:\n  policy: fbq\n  param: [K=0]\n", "k=\"0\": out of range"},
		{"master:\n  policy: fbq\n  param: [L=2]\n", "no parameter \"l\""},
		{"master:\n  admission: none\n", "none"},
		{"master:\n  placement: anywhere\n", "anywhere"},
		{"master:\n  listen: 0.0.0.0:0\n", "0.0.0.0"},
		{"master:\n  listen: nowhere\n", "nowhere"},
		{"master:\n  log-level: loud\n", "loud"},
		{"master:\n  topology: /does/not/exist\n", "/does/not/exist"},
		{"master: 3\n", "master"},
		{"master:\n\tdir: x\n", ":2: found character"},
		{"queues: [a]\n", "queues"},
		{"queues:\n  a:\n    sumbit: [x]\n", "sumbit"},
		{"queues:\n  a:\n    submit: {x: y}\n", "submit"},
		{strings.Repeat("# comment\n", 200_000), "too many for a configuration"},
		{"master: {dir: x", ""},
		{"\x00\x01", ""},
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			name := writeFile(t, c.text)
			_, err := runQuiet(newMaster(), "--config", name, "--dir", t.TempDir(), "--gossip", "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %q in it", c.text[:min(len(c.text), 60)], err, c.want)
			}
		})
	}
}

func TestWrongTopologies(t *testing.T) {
	for text, want := range map[string]string{
		"nic: fast\n":                             ":1: nic: rate",
		"nic: 1Gb/s\nuplink: -1Gb/s\n":            ":2: uplink: rate",
		"racks:\n  r1:\n    uplink: 0Mb/s\n":      ":3: racks.r1.uplink: rate",
		"racks:\n  r1:\n    upling: 1Mb/s\n":      "upling",
		"nic: 1Gb/s\nracks: [r1]\n":               "racks",
		"uplink: 99999999999999999999999999b/s\n": "rate",
	} {
		if _, err := readLinks(writeFile(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
	l, err := readLinks(writeFile(t, "nic: 1Gb/s\nuplink: 200 Mbps\nracks:\n  r1: {uplink: 80kbit/s, downlink: 8b/s}\n  r2: {}\n"))
	if err != nil || l.NIC != 125e6 || l.Rack("r3").Uplink != 25e6 || l.Rack("r2").Uplink != 25e6 || l.Rack("r1").Uplink != 1e4 || l.Rack("r1").Down() != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := emulation("links", ""); err == nil {
		t.Error("links are emulated without a topology")
	}
}
