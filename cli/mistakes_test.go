package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Words that are no commands, and parameters of nobody, are mistakes that are named.
func TestMistakesAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"cluster foo":     `unknown command "foo" (known: `,
		"job foo":         `unknown command "foo"`,
		"node foo":        `unknown command "foo"`,
		"queue foo":       `unknown command "foo"`,
		"config foo":      `unknown command "foo"`,
		"completion tcsh": `unknown command "tcsh"`,
		"sim run --policy fair --param fiar.weights=a=3":               `"fiar" is none of the policies compared (fair)`,
		"sim run --policy fair --admission marp --param mapr.marp=0.1": `"mapr"`,
		"sim run --policy= ":                       "--policy is empty",
		"run wordcount --input dfs:/a --output x1": "--master",
	} {
		_, err := runQuiet(newRoot(), strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", line, err, want)
		}
	}
}

// TestEverySettingOfHadoop: no setting of Hadoop is taken and then not done; a flag that is named in its place is there.
func TestEverySettingOfHadoop(t *testing.T) {
	names, err := os.ReadFile(filepath.Join("testdata", "hadoop-settings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := newRoot().Find([]string{"run", "streaming"})
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for name := range strings.FieldsSeq(string(names)) {
		_, err := runQuiet(newRoot(), "run", "streaming", "--mapper", "cat", "--input", "none", "--output", "none", "-D", name+"=1")
		if err == nil || !strings.HasPrefix(err.Error(), "-D "+name+" is ") {
			t.Errorf("-D %s: %v", name, err)
			continue
		}
		if _, flag, ok := strings.Cut(err.Error(), "give --"); ok {
			if flags++; run.Flags().Lookup(flag) == nil {
				t.Errorf("-D %s: there is no --%s", name, flag)
			}
		}
	}
	if flags < 30 {
		t.Errorf("%d settings name a flag", flags)
	}
}

// --overwrite replaces a directory, never a file.
func TestOverwriteKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "precious")
	for _, name := range []string{in, out} {
		if err := os.WriteFile(name, []byte("one two\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := runQuiet(newRoot(), "run", "wordcount", "--input", in, "--output", out, "--overwrite", "--progress", "none")
	if err == nil || !strings.Contains(err.Error(), "is a file, not a directory") {
		t.Errorf("a file as output: %v", err)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "one two\n" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// A shipped script is found by its bare name, as Hadoop Streaming's users write it.
func TestStreamingFindsShippedScripts(t *testing.T) {
	dir := t.TempDir()
	in, script, out := filepath.Join(dir, "in"), filepath.Join(dir, "same.sh"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("b\t1\na\t2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := runQuiet(newRoot(), "run", "streaming", "--mapper", "same.sh", "--reducer", "same.sh", "--file", script, "--reducers", "1",
		"--input", in, "--output", out, "--progress", "none")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(out, "part-r-00000")); err != nil || string(b) != "a\t2\nb\t1\n" {
		t.Errorf("%q, %v", b, err)
	}
}
