// Package hadooptest starts a real HDFS for tests: Hadoop's own mini cluster, in a Java process of some 500 MB that ends
// with the test. Its jars come from Maven Central, at pinned versions (make hadoop-jars); [Jars] names their directory.
package hadooptest

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
)

// Jars is the variable that names the directory of Hadoop's jars.
const Jars = "MILLRACE_HADOOP_JARS"

//go:embed Rig.java
var rig []byte

// logging keeps Hadoop's log short.
const logging = `log4j.rootLogger=WARN,A
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.target=System.err
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
`

// A Config says which HDFS is wanted.
type Config struct {
	DataNodes int  // 0 means 2
	HA        bool // two name nodes, the first active
}

// A Cluster is a running HDFS.
type Cluster struct {
	Conf string // the directory of core-site.xml and hdfs-site.xml, as an administrator hands it out

	t       testing.TB
	in      io.WriteCloser
	answers chan string
	log     string
}

// startWithin is how long a busy machine may take; a quiet one takes ten seconds.
const startWithin = 3 * time.Minute

// Start starts an HDFS that ends with the test, which is left out if the jars or Java are missing.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	jars := require.Hadoop(t, Jars)
	if cfg.DataNodes == 0 {
		cfg.DataNodes = 2
	}
	mode := "single"
	if cfg.HA {
		mode = "ha"
	}
	dir := t.TempDir()
	c := &Cluster{Conf: filepath.Join(dir, "conf"), t: t, answers: make(chan string), log: filepath.Join(dir, "log")}
	source := filepath.Join(dir, "Rig.java")
	for name, text := range map[string]string{source: string(rig), filepath.Join(dir, "log4j.properties"): logging} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("java", "-Xmx600m", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-cp", dir+string(os.PathListSeparator)+filepath.Join(jars, "*"), source, dir, fmt.Sprint(cfg.DataNodes), mode)
	c.run(cmd)
	c.expect("up", startWithin)
	return c
}

// run starts the process and ends it with the test: it goes when its input ends.
func (c *Cluster) run(cmd *exec.Cmd) {
	log, err := os.Create(c.log)
	if err != nil {
		c.t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(c.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answer, ours := strings.CutPrefix(lines.Text(), "rig ")
			if !ours {
				continue // of Hadoop's log, which would fill the pipe
			}
			select {
			case c.answers <- answer:
			case <-ended:
			}
		}
	}()
	c.t.Cleanup(func() {
		close(ended)
		_ = c.in.Close()
		_ = cmd.Process.Kill() // its files are the test's to remove
		_ = cmd.Wait()
		_ = log.Close()
	})
}

// expect waits for a line that begins with a word, and returns the rest.
func (c *Cluster) expect(word string, within time.Duration) string {
	c.t.Helper()
	timeout := time.After(within)
	for {
		select {
		case line, ok := <-c.answers:
			if rest, found := strings.CutPrefix(line, word); found {
				return strings.TrimSpace(rest)
			}
			if !ok || strings.HasPrefix(line, "failed") {
				c.t.Fatalf("the HDFS for tests says %q instead of %q; the end of its log:\n%s", line, word, c.tail())
			}
		case <-timeout:
			c.t.Fatalf("the HDFS for tests does not say %q; the end of its log:\n%s", word, c.tail())
		}
	}
}

func (c *Cluster) tail() string {
	b, _ := os.ReadFile(c.log) // for a message
	return string(b[max(0, len(b)-3000):])
}

// Do lets the cluster carry out a command of Rig.java, and returns what it answers.
func (c *Cluster) Do(command ...any) string {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, command...); err != nil {
		c.t.Fatal(err)
	}
	return c.expect("ok", startWithin)
}

// Value returns what a property has in the configuration.
func (c *Cluster) Value(file, key string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.Conf, file))
	if err != nil {
		c.t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(b), "<name>"+key+"</name><value>")
	value, _, _ := strings.Cut(after, "<")
	if !ok {
		c.t.Fatalf("%s has no %s", file, key)
	}
	return value
}

// WebHDFS returns the address of the first name node's WebHDFS, HOST:PORT.
func (c *Cluster) WebHDFS() string { return c.Value("hdfs-site.xml", "dfs.namenode.http-address") }
