package webhdfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/storage/storagetest"
	"github.com/millrace/millrace/storage/webhdfs"
)

// A server answers as a name node and a data node do, with one file, and goes wrong as a test says.
type server struct {
	content string
	id      int // of the file

	mu     sync.Mutex // guards what follows
	faults []func(w http.ResponseWriter)
	asked  []string // operations
}

func startServer(t *testing.T, s *server) storage.FS {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return storeAt(t, strings.TrimPrefix(h.URL, "http://"))
}

func storeAt(t *testing.T, address string) storage.FS {
	t.Helper()
	svc := webhdfs.New(webhdfs.Config{User: "ann", Patience: 10 * time.Second, Stall: 300 * time.Millisecond})
	t.Cleanup(svc.Close)
	store, _ := at(t, storage.Mux{Sites: svc.Sites()}, "webhdfs://"+address+"/")
	return store
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	op := q.Get("op")
	if q.Get("data") == "true" {
		op = "DATA"
	}
	s.mu.Lock()
	s.asked = append(s.asked, op)
	var fault func(http.ResponseWriter)
	if len(s.faults) > 0 && (op == "DATA" || op == "LISTSTATUS_BATCH") {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	id := s.id
	s.mu.Unlock()
	if fault != nil {
		fault(w)
		return
	}
	switch op {
	case "GETFILESTATUS":
		fmt.Fprintf(w, `{"FileStatus":{"type":"FILE","length":%d,"modificationTime":5,"fileId":%d,"pathSuffix":""}}`, len(s.content), id)
	case "OPEN":
		q.Set("data", "true")
		http.Redirect(w, r, "http://"+r.Host+r.URL.Path+"?"+q.Encode(), http.StatusTemporaryRedirect)
	case "LISTSTATUS":
		io.WriteString(w, `{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"f","length":1}]}}`)
	case "LISTSTATUS_BATCH":
		io.WriteString(w, `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"f"}]}},"remainingEntries":0}}`)
	case "DATA":
		off, _ := strconv.Atoi(q.Get("offset"))
		n, _ := strconv.Atoi(q.Get("length"))
		io.WriteString(w, s.content[off:off+n])
	}
}

// The ways in which a server goes wrong.

func cut(w http.ResponseWriter) { // in the middle of the body
	w.Header().Set("Content-Length", "100000")
	io.WriteString(w, "")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

func busy(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }

func silent(w http.ResponseWriter) {
	w.(http.Flusher).Flush()
	time.Sleep(time.Second) // longer than anybody waits
}

func standby(w http.ResponseWriter) {
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, `{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException","message":"not here"}}`)
}

// TestAReadOutlivesFaults: whatever a data node does in the middle, the bytes are those of the file.
func TestAReadOutlivesFaults(t *testing.T) {
	s := &server{content: storagetest.Pattern(300_000), id: 1}
	half := func(w http.ResponseWriter) { // right bytes, but not all of them
		io.WriteString(w, s.content[:1000])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	s.faults = []func(http.ResponseWriter){half, cut, busy, silent, standby, cut}
	f, err := startServer(t, s).Open("/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || string(got) != s.content {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if len(s.faults) > 0 {
		t.Errorf("%d faults did not happen", len(s.faults))
	}
}

// TestAFileThatChangesInTheMiddle: what comes after a cut is of another file, of the same length and time: an error.
func TestAFileThatChangesInTheMiddle(t *testing.T) {
	s := &server{content: storagetest.Pattern(300_000), id: 1}
	s.faults = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		io.WriteString(w, s.content[:1000])
		w.(http.Flusher).Flush()
		s.mu.Lock()
		s.id = 2
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}}
	f, err := startServer(t, s).Open("/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.ReadAt(make([]byte, 300_000), 0); !errors.Is(err, storage.ErrChanged) || !strings.Contains(err.Error(), "/f") {
		t.Errorf("%v", err)
	}
}

// TestAnOldServerListsWhole: one that knows no pages is asked for the whole directory.
func TestAnOldServerListsWhole(t *testing.T) {
	s := &server{faults: []func(http.ResponseWriter){func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"RemoteException":{"exception":"IllegalArgumentException","message":"No enum constant LISTSTATUS_BATCH"}}`)
	}}}
	list, err := startServer(t, s).ReadDir("/d")
	if err != nil || len(list) != 1 || list[0].Name() != "f" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestAListingThatBreaksOff: is asked for again, and no name comes twice.
func TestAListingThatBreaksOff(t *testing.T) {
	s := &server{faults: []func(http.ResponseWriter){func(w http.ResponseWriter) {
		io.WriteString(w, `{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":"f"},`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, busy}}
	list, err := startServer(t, s).ReadDir("/d")
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestServersThatAreNone: the error says what is wrong, and does not tell who asked with what.
func TestServersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		words  string
		is     error
	}{
		"no WebHDFS": {http.NotFound, "dfs.webhdfs.enabled", nil},
		"another port": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "It looks like you are making an HTTP request to a Hadoop IPC port.", 404)
		}, "Hadoop's own protocol", nil},
		"Kerberos":       {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusUnauthorized) }, "Kerberos", fs.ErrPermission},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "no WebHDFS", nil},
		"a name of none": {redirect("http://no-such-host.invalid:9864/x"), `"no-such-host.invalid" of the data node`, nil},
		"no data node":   {redirect("file:///etc/passwd"), "does not say which data node", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := httptest.NewServer(c.answer)
			defer h.Close()
			f, err := storeAt(t, strings.TrimPrefix(h.URL, "http://")).Open("/f")
			if err == nil {
				_, err = f.ReadAt(make([]byte, 1), 0)
			}
			if err == nil || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "/f") || strings.Contains(err.Error(), "user.name") || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v, want one with %q", err, c.words)
			}
		})
	}
}

// redirect describes a file and sends who reads it elsewhere.
func redirect(to string) http.HandlerFunc {
	s := &server{content: "x"}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("op") != "OPEN" {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
}

// TestHurryEndsWaiting: after it, a server that is out of reach is asked once.
func TestHurryEndsWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // nobody is there any more
	svc := webhdfs.New(webhdfs.Config{Patience: 24 * time.Hour, Stall: time.Minute})
	defer svc.Close()
	store, _ := at(t, storage.Mux{Sites: svc.Sites()}, "webhdfs://"+address+"/")
	svc.Hurry()
	if err := store.RemoveAll("/x"); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("%v", err)
	}
}
