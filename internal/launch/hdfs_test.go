package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/hadooptest"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// count runs wordcount here and returns its error.
func count(t *testing.T, more ...string) error {
	t.Helper()
	stages, err := jobs.Parse("wordcount", append(more, "--reducers", "3"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := New(Config{Stages: stages, Local: local.Config{Memory: local.MinMemory}, Progress: "none", Dash: "--", Out: &bytes.Buffer{}, Err: os.Stderr})
	if err != nil {
		return err
	}
	return run.Do(t.Context())
}

// TestWordcountOnHDFS: many small files and a large one, from and to HDFS, give the parts of a run on this disk; what is in
// the way of the output stays.
func TestWordcountOnHDFS(t *testing.T) {
	c := hadooptest.Start(t, hadooptest.Config{})
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HADOOP_CONF_DIR", c.Conf)
	t.Setenv("HADOOP_USER_NAME", u.Username)
	mux := hadoop(0).Sites()
	hdfs, err := mux["hdfs"]("")
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	if err := hdfs.MkdirAll("/books/old"); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) error {
		if err := os.WriteFile(filepath.Join(here, strings.ReplaceAll(name, "/", "-")), []byte(text), 0o600); err != nil {
			return err
		}
		w, err := hdfs.Create("/books/" + name)
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return w.Close()
	}
	var large strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&large, "word%d and more\n", i%5000)
	}
	if err := put("large", large.String()); err != nil {
		t.Fatal(err)
	}
	small := 200
	if require.Stressed() {
		small = 2000
	}
	for i := range small {
		if err := put(fmt.Sprintf("old/%04d", i), fmt.Sprintf("small number %d\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(t.TempDir(), "out")
	if err := count(t, "--input", here, "--output", want); err != nil {
		t.Fatal(err)
	}
	if err := count(t, "--input", "hdfs:///books", "--output", "hdfs:///deep/counts"); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		part := fmt.Sprintf("part-r-%05d", i)
		wanted, err := os.ReadFile(filepath.Join(want, part))
		if err != nil {
			t.Fatal(err)
		}
		f, err := hdfs.Open("/deep/counts/" + part)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, f.Size())
		if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, wanted) {
			t.Errorf("%s has %d bytes, %v; want %d", part, len(got), err, len(wanted))
		}
		f.Close()
	}
	list, err := hdfs.ReadDir("/deep")
	if err != nil || len(list) != 1 {
		t.Errorf("beside the output: %v, %v", list, err)
	}
	if err := count(t, "--input", "hdfs:///books", "--output", "hdfs:///deep/counts"); err == nil || !strings.Contains(err.Error(), "output exists") {
		t.Errorf("an output that exists: %v", err)
	}
	if err := count(t, "--input", "hdfs:///books", "--output", "hdfs:///books/out"); err == nil || !strings.Contains(err.Error(), "inside the input") {
		t.Errorf("an output inside the input: %v", err)
	}
}

// TestHDFSWithoutConfiguration: the error says what to set, and on a cluster that the workers do not read it.
func TestHDFSWithoutConfiguration(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	t.Setenv("HADOOP_HOME", "")
	err := count(t, "--input", "hdfs:///books", "--output", filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") || !strings.Contains(err.Error(), "hdfs:///books") {
		t.Errorf("%v", err)
	}
	stages, err := jobs.Parse("wordcount", []string{"--input", "hdfs:///books", "--output", "dfs:/out"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Config{Stages: stages, Client: client.Config{Master: "nobody:1"}, Progress: "none", Dash: "--", Err: os.Stderr})
	if err == nil || !strings.Contains(err.Error(), "--local") || !strings.Contains(err.Error(), "hdfs:///books") {
		t.Errorf("on a cluster: %v", err)
	}
}
