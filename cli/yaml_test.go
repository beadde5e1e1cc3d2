package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// readers are the files in YAML that the command reads, each to its end.
var readers = map[string]func(data []byte) error{
	"cluster": func(data []byte) error {
		_, err := parseDescription("f.yaml", data)
		return err
	},
	"batch": func(data []byte) error {
		_, err := parseBatch("f.yaml", data)
		return err
	},
	"topology": func(data []byte) error {
		var f topologyFile
		err := decodeYAML("f.yaml", data, &f)
		if err == nil {
			_, err = f.links("f.yaml", "", data)
		}
		return err
	},
	"configuration": func(data []byte) error {
		var c configFile
		return decodeYAML("f.yaml", data, &c)
	},
	"scenario": func(data []byte) error {
		s, err := readScenario("f.yaml", data)
		if err == nil {
			_, err = s.decode()
		}
		return err
	},
}

// TestYAML: files that stop the library, or that it would never finish, get an error that names the line.
func TestYAML(t *testing.T) {
	deep := func(s string) string { return "a: b\n" + strings.Repeat(s, maxFile/len(s)-8) }
	var laughs strings.Builder
	laughs.WriteString("a: &a [x, x]\n")
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&laughs, "%c: &%[1]c [*%c, *%[2]c]\n", c, c-1)
	}
	for _, tt := range []struct{ file, want string }{
		{"classes: !000000 0000000000000\nA:", "f.yaml: a value cannot be read"},
		{deep("["), "f.yaml:2: the file is nested too deep"},
		{deep("{a: "), "f.yaml:2: the file is nested too deep"},
		{deep("- "), "f.yaml:2: the file is nested too deep"},
		{deep("? "), "f.yaml:2: "},
		{deep("!a "), "f.yaml:2: the file is nested too deep"},
		{deep("&a "), "f.yaml:2: the file is nested too deep"},
		{laughs.String(), "f.yaml:2: an alias (*a) stands in the value of &b: write the value out"},
		{"a: &a [" + strings.Repeat("x, ", 1000) + "]\nb: [" + strings.Repeat("*a, ", 100_000) + "]\n", "aliases (*name) in 403"},
		{"racks: 1\n---\nracks: 2\n", "f.yaml:3: the file has two documents"},
		{strings.Repeat("#", maxFile+1), "bytes are too many"},
	} {
		start := time.Now()
		err := readers["cluster"]([]byte(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: %v; want %s", tt.file, err, tt.want)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.60q: read in %v", tt.file, took)
		}
	}
}

// FuzzYAML: no file crashes the command.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		twoClasses, threeJobs, "links:\n  r0: {uplink: 1Gb/s}\n", "master: {addr: x}\nqueues: {a: {share: 1}}\n",
		"classes: !000000 0000000000000\nA:", "policies: [{policy: fair, params: {a: [1, 2]}}]\njobs: &a [*a]\nnodes: 1..4\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, read := range readers {
			_ = read(data)
		}
	})
}
