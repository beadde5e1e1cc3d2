package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestInputThatChanges: input to which somebody adds, which somebody writes anew or removes while it is read fails the run, by name, and
// no output is to be seen. Input that stays as it is, also if others are read twice, does not.
func TestInputThatChanges(t *testing.T) {
	const text = "some words of a text\n"
	for name, change := range map[string]func(path string) error{
		"appended": func(path string) error { return os.WriteFile(path, []byte(text+"more\n"), 0o644) },
		"touched":  func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)) },
		"removed":  os.Remove,
		"left":     func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out")
			if err := os.WriteFile(in, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			changing := mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
				if err := change(in); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				emit(line, 1)
			})
			job := mapreduce.Job{
				Name: "changing", Output: out, Fold: mapreduce.Sum,
				Inputs: []mapreduce.Input{{Paths: []string{in}, Map: changing}, {Paths: []string{in}, Map: changing}},
			}
			_, err := local.Run(t.Context(), local.Config{Workers: 1}, job)
			if name == "left" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "in.txt") {
				t.Errorf("the run ended with %v", err)
			}
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("there is output: %v", err)
			}
		})
	}
}
