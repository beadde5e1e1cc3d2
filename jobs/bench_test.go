package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/jobs/gensort"
	"github.com/millrace/millrace/jobs/textgen"
	"github.com/millrace/millrace/local"
)

// The engine from file to file, without a process around it: the place to take a
// profile. `millrace bench` compares with other programs.
func BenchmarkWordCount64MiB(b *testing.B) {
	text, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		b.Fatal(err)
	}
	in := filepath.Join(b.TempDir(), "in")
	data := make([]byte, 64<<20)
	for i := 0; i < len(data); i += textgen.BlockBytes {
		text.Fill(data[i:i+textgen.BlockBytes], uint64(i/textgen.BlockBytes))
	}
	benchJob(b, in, data, 256<<20, "wordcount")
}

func BenchmarkTeraSort100MB(b *testing.B) {
	for _, memory := range []int64{32 << 20, 256 << 20} {
		b.Run(fmt.Sprintf("memory=%dMiB", memory>>20), func(b *testing.B) {
			data := make([]byte, 100_000_000)
			gensort.NewGenerator(gensort.Uint128{}, gensort.Binary).Fill(data)
			benchJob(b, filepath.Join(b.TempDir(), "in"), data, memory, "terasort")
		})
	}
}

func BenchmarkSortText64MiB(b *testing.B) {
	text, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 64<<20)
	for i := 0; i < len(data); i += textgen.BlockBytes {
		text.Fill(data[i:i+textgen.BlockBytes], uint64(i/textgen.BlockBytes))
	}
	benchJob(b, filepath.Join(b.TempDir(), "in"), data, 32<<20, "sort")
}

func BenchmarkGrepLines64MiB(b *testing.B) {
	text, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 64<<20)
	for i := 0; i < len(data); i += textgen.BlockBytes {
		text.Fill(data[i:i+textgen.BlockBytes], uint64(i/textgen.BlockBytes))
	}
	benchJob(b, filepath.Join(b.TempDir(), "in"), data, 64<<20, "grep", "--fixed", "--lines", "--pattern", "xqzzqx")
}

func benchJob(b *testing.B, in string, data []byte, memory int64, name string, words ...string) {
	b.Helper()
	if err := os.WriteFile(in, data, 0o644); err != nil {
		b.Fatal(err)
	}
	out := filepath.Join(b.TempDir(), "out")
	stages, err := jobs.Parse(name, append(words, "--input", in, "--output", out))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := local.Run(b.Context(), local.Config{Memory: memory, Overwrite: true}, stages...); err != nil {
			b.Fatal(err)
		}
	}
}
