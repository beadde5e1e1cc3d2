package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// overhead is what a process takes beside its budget and its own file: the runtime, read
// and write buffers, stacks.
const overhead = 26 << 20

// bomb makes a gzip file that holds size bytes, all alike.
func (c *child) bomb(name string, fill byte, size int64) {
	c.t.Helper()
	f, err := os.Create(c.path(name))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		c.t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte{fill}, 1<<20)
	for ; size > 0; size -= int64(len(chunk)) {
		if _, err := z.Write(chunk); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// TestGzipBomb: what comes out of a small file streams through bounded memory, or is
// one line and refused at the record limit.
func TestGzipBomb(t *testing.T) {
	size := int64(64 << 20)
	if require.Stressed() {
		size = 10 << 30
	}
	c := newChild(t)
	c.bomb("lines.gz", '\n', size)
	c.ok("run", "grep", "--lines", "--fixed", "--pattern", "x", "--input", "lines.gz", "--output", "out", "--memory", "32MiB", "--json")
	if want := fmt.Sprintf(`"map_input_records":%d`, size); !strings.Contains(c.stdout.String(), want) {
		t.Errorf("no %s in %s", want, c.stdout.String())
	}
	c.within(32<<20 + overhead)

	c.bomb("one.gz", 0, size)
	c.run("millrace", "run", "wordcount", "--input", "one.gz", "--output", "out2", "--memory", "32MiB")
	c.failed(c.path("out2"), "one.gz", "record at offset 0", "more than 8388608 bytes", "MaxRecordBytes")
	c.within(32<<20 + overhead)
}

// TestOneLargeRecord of 60 MB passes through a sort at 256 MiB; one of 15 MB at 64.
func TestOneLargeRecord(t *testing.T) {
	size, memory := 15_000_000, int64(64)
	if require.Stressed() {
		size, memory = 60_000_000, 256
	}
	c := newChild(t)
	large := strings.Repeat("0123456789", size/10)
	c.write("in", []byte("b\n"+large+"\na\n"))
	c.ok("run", "sort", "--input", "in", "--output", "out", "--memory", fmt.Sprintf("%dMiB", memory))
	if got := c.parts("out"); got != large+"\na\nb\n" {
		t.Errorf("the output has %d bytes and starts %.20q", len(got), got)
	}
	c.within(memory << 20)
	c.run("millrace", "run", "sort", "--input", "in", "--output", "out2", "--memory", "32MiB")
	c.failed(c.path("out2"), "in: record at offset 2", "more than 8388608 bytes", "memory")
}

// TestLargeRecords: several records of a quarter of the memory, alike to their very ends, in maps and reduces that run at once.
func TestLargeRecords(t *testing.T) {
	memory, size := int64(64), 16_000_000
	if raced { // its shadow of every byte takes a minute
		memory, size = 32, 8_000_000
	}
	budget := fmt.Sprintf("%dMiB", memory)
	c := newChild(t)
	body := strings.Repeat("0123456789", size/10-1)
	var in, want strings.Builder
	for i, tail := range []string{"2222222222\n", "0000000000\n", "1111111111\n"} {
		in.WriteString(body + tail)
		want.WriteString(body + strings.Repeat(fmt.Sprint(i), 10) + "\n")
	}
	c.write("in", []byte(in.String()))
	c.ok("run", "sort", "--input", "in", "--output", "out", "--memory", budget, "--workers", "3", "--reducers", "2")
	c.within(memory << 20)
	if c.parts("out") != want.String() {
		t.Error("the output is not sorted")
	}
	c.ok("run", "grep", "--lines", "--pattern", "^x", "--input", "in", "--output", "none", "--memory", budget, "--workers", "3")
	c.within(memory << 20)
}

// TestManySmallFiles are read together by few tasks.
func TestManySmallFiles(t *testing.T) {
	n := 4000
	if require.Stressed() {
		n = 20_000
	}
	c := newChild(t)
	if err := os.Mkdir(c.path("in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c.write(fmt.Sprintf("in/%05d", i), fmt.Appendf(nil, "word%d all\n", i%10))
	}
	c.ok("run", "wordcount", "--input", "in", "--output", "out", "--memory", "32MiB", "--sort-memory", "8MiB", "--reducers", "1", "--json")
	if got, want := c.parts("out"), fmt.Sprintf("all\t%d\nword0\t%d\n", n, n/10); !strings.HasPrefix(got, want) {
		t.Errorf("the output starts %.40q, want %q", got, want)
	}
	if want := fmt.Sprintf(`"map_input_records":%d`, n); !strings.Contains(c.stdout.String(), want) {
		t.Errorf("no %s in %s", want, c.stdout.String())
	}
	c.within(16<<20 + overhead)
}

// TestManyKeys: a million different keys, at 1 MiB of memory, each counted once or twice.
func TestManyKeys(t *testing.T) {
	n := 250_000
	if require.Stressed() {
		n = 5_000_000
	}
	c := newChild(t)
	f, err := os.Create(c.path("in"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(w, "key%09d\n", i*7919%n)
		if i%2 == 0 {
			fmt.Fprintf(w, "key%09d\n", i)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c.ok("run", "wordcount", "--input", "in", "--output", "out", "--memory", "32MiB", "--sort-memory", "1MiB", "--reducers", "1")
	lines := bufio.NewScanner(strings.NewReader(c.parts("out")))
	for i := range n {
		if want := fmt.Sprintf("key%09d\t%d", i, 2-i%2); !lines.Scan() || lines.Text() != want {
			t.Fatalf("line %d is %q, want %q", i, lines.Text(), want)
		}
	}
	if lines.Scan() {
		t.Errorf("one line more: %q", lines.Text())
	}
	c.within(1<<20 + overhead)
}

// TestOneGiantKey: half of the bytes belong to one key, more than the memory.
func TestOneGiantKey(t *testing.T) {
	rows := 60_000
	if require.Stressed() {
		rows = 3_000_000
	}
	c := newChild(t)
	f, err := os.Create(c.path("in"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range rows {
		key := "giant"
		if i%2 == 1 {
			key = fmt.Sprintf("k%d", i)
		}
		fmt.Fprintf(w, "%s\t%0200d\n", key, i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	c.ok("run", "streaming", "--mapper", "cat", "--reducer", "cut -f1 | uniq -c | sort -rn | head -n 2 | awk '{ print $1, $2 }'",
		"--input", "in", "--output", "out", "--memory", "32MiB", "--sort-memory", "1MiB", "--reducers", "3")
	if got, want := c.parts("out"), fmt.Sprintf("%d giant\n", rows/2); !strings.Contains(got, want) {
		t.Errorf("the output is %q, want %q in it", got, want)
	}
	c.within(2<<20 + overhead)
}
