package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// TestOutputsThatCannotBe: what is there, or lies in what is read, is refused before anything is touched, and says what to do; a store that nobody knows,
// wherever it is named.
func TestOutputsThatCannotBe(t *testing.T) {
	for _, x := range []struct {
		in, out   string
		overwrite bool
		want      string // "": it can
		exists    bool
	}{
		{"in", "new", false, "", false},
		{"in", "file", false, "is a file, not a directory", true},
		{"in", "file", true, "is a file, not a directory", true},
		{"in", "there", false, "--overwrite", true},
		{"in", "there", true, "", false},
		{"in", "in/new", false, "lies inside the input", false},
		{"in", "in/new", true, "lies inside the input", false},
		{"there/below", "there", true, "lies inside the output", false},
		{"new/below", "new", true, "lies inside the output", false},
		{"new/below", "new", false, "", false},
		{"in", "far:/out", false, "output: ", false},
		{"in", "nowhere/out", false, "nowhere", false}, // no directory can be made there
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"in/a": "a\n", "file": "x", "there/_SUCCESS": "", "there/below/a": "a\n"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(dir+"/gone/for/good", dir+"/nowhere"); err != nil {
			t.Fatal(err)
		}
		job := &mapreduce.Job{Output: x.out, Input: []string{dir + "/" + x.in}}
		if !strings.Contains(x.out, ":") {
			job.Output = dir + "/" + x.out
		}
		for how, make := range map[string]func() (*JobOutput, error){
			"own":    func() (*JobOutput, error) { return PrepareOwnOutput(storage.Mux{}, job, x.overwrite) },
			"shared": func() (*JobOutput, error) { return prepare(storage.Mux{}, job, "test", x.overwrite) },
		} {
			o, err := make()
			if (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || errors.Is(err, ErrOutputExists) != x.exists) {
				t.Errorf("%s, %+v: %v", how, x, err)
			}
			if err == nil {
				err = o.Abort()
			}
			if left, _ := filepath.Glob(dir + "/.*"); err != nil && x.want == "" || len(left) > 0 {
				t.Errorf("%s, %+v: there is %q, %v", how, x, left, err)
			}
		}
		_, joined := JoinOutput(storage.Mux{}, job, mapreduce.WorkDir(job.Output, "test"), false)
		_, named := WorkDir(storage.Mux{}, job, "test")
		if known := !strings.Contains(x.out, ":"); (joined == nil) != known || (named == nil) != known || !known && CheckPlace(storage.Mux{}, x.out) == nil {
			t.Errorf("%s: joined %v, named %v", x.out, joined, named)
		}
	}
}

// mover is a disk that moves files together and replaces directories in one step, as a block store does, and fails as it is told.
type mover struct {
	storage.Disk
	moved, replaced int
	err             error
}

func (m *mover) RenameAll(moves []storage.Move) error {
	m.moved += len(moves)
	for _, x := range moves {
		if _, err := os.Stat(x.To); err == nil {
			continue
		}
		if err := os.Rename(x.From, x.To); err != nil {
			return err
		}
	}
	return m.err
}

func (m *mover) ReplaceDir(from, to string) error {
	m.replaced++
	return errors.Join(os.RemoveAll(to), os.Rename(from, to), m.err)
}

// TestStoresThatMoveAtOnce publish and replace in their own way; what they fail of is told, but for what another driver has done meanwhile.
func TestStoresThatMoveAtOnce(t *testing.T) {
	store := &mover{}
	mux := storage.Mux{Local: func(string) (storage.FS, error) { return store, nil }}
	job := &mapreduce.Job{Output: filepath.Join(t.TempDir(), "out"), Map: lines()}
	if err := errors.Join(os.Mkdir(job.Output, 0o755), os.WriteFile(filepath.Join(job.Output, SuccessFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	o, err := prepare(mux, job, "job-1", true)
	if err != nil {
		t.Fatal(err)
	}
	writePart(t, job, o.Work(), 9, "winner")
	store.err = errors.New("not today")
	if err := o.Publish(mapreduce.ReduceTask, []uint64{9}); !errors.Is(err, store.err) || !strings.Contains(err.Error(), "commit output") {
		t.Errorf("a store that fails: %v", err)
	}
	store.err = nil
	if err := o.Publish(mapreduce.ReduceTask, []uint64{9, 10}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part that is not there: %v", err)
	}
	if err := errors.Join(o.Publish(mapreduce.ReduceTask, []uint64{9}), o.CommitOnce("job-1", 1)); err != nil {
		t.Fatal(err)
	}
	if got := list(t, job.Output); got != "_SUCCESS part-r-00000" || store.moved != 4 || store.replaced != 1 {
		t.Errorf("the output holds %s after %d moves and %d replacements", got, store.moved, store.replaced)
	}
	if err := errors.Join(o.Publish(mapreduce.ReduceTask, []uint64{9, 10}), o.CommitOnce("job-1", 2)); err != nil || store.moved != 4 {
		t.Errorf("another driver, after the end: %v, %d moves", err, store.moved)
	}
	if err := o.CommitOnce("job-2", 2); err == nil || !strings.Contains(err.Error(), "another job's") {
		t.Errorf("another job: %v", err)
	}
}

// TestInputThatChanges while a job reads it is noticed by size and by time; a plan that does not know the time does not mind, and one without files, as it
// comes over the wire, knows nothing.
func TestInputThatChanges(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for what, x := range map[string]struct {
		change func(file string) error
		want   string
	}{
		"nothing":   {func(string) error { return nil }, ""},
		"its time":  {func(file string) error { return os.Chtimes(file, at, at.Add(time.Second)) }, "changed while it was read"},
		"its size":  {func(file string) error { return errors.Join(os.Truncate(file, 3), os.Chtimes(file, at, at)) }, "(3 bytes"},
		"it goes":   {os.Remove, "is not there any more"},
		"all of it": {func(file string) error { return os.RemoveAll(filepath.Dir(file)) }, "not there any more"},
	} {
		dir := filepath.Join(t.TempDir(), "in")
		for _, name := range []string{"a", "b"} {
			file := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, []byte("words\n"), 0o600), os.Chtimes(file, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		job := &mapreduce.Job{Input: []string{dir}, Map: lines(), MapOnly: true}
		p, err := plan(t, job, 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.change(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
		if err := p.CheckInput(storage.Mux{}, job); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", what, err)
		}
		for i := range p.files {
			p.files[i].Mod = time.Time{}
		}
		if err := p.CheckInput(storage.Mux{}, job); (err == nil) != !strings.Contains(x.want, "not there") {
			t.Errorf("%s, of a store without times: %v", what, err)
		}
	}
}

// TestSpotsOfSamples lie in order over the whole input, each in a split and as long as others, however many splits there are.
func TestSpotsOfSamples(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	const size = 60_000
	if err := os.WriteFile(file, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	job := &mapreduce.Job{Input: []string{file}, Map: lines()}
	for n, want := range map[int]int{1: 128, 2: 128, 3: 126, 127: 127, 128: 128, 129: 129, 255: 255, 256: 128, 300: 150} {
		p, each := &Plan{}, int64(size/n)
		for i := range int64(n) {
			p.Splits = append(p.Splits, Split{Ranges: []Range{{file, i * each, each}, {file + "-other", 0, 1 << 30}}})
		}
		spots, err := p.spots(&Env{}, job)
		if err != nil || len(spots) != want {
			t.Fatalf("%d splits: %d spots, want %d, %v", n, len(spots), want, err)
		}
		last := int64(0)
		for i, s := range spots {
			r := s.Ranges[0]
			from, to := r.Offset/each*each, r.Offset/each*each+each
			if len(s.Ranges) != 1 || r.Path != file || r.Offset < last || r.Length < min(100, each) || r.Offset+r.Length > to || r.Offset < from {
				t.Fatalf("%d splits: spot %d is %+v, behind %d", n, i, s, last)
			}
			last = r.Offset + r.Length
		}
		if last < size*98/100 {
			t.Errorf("%d splits: the last spot ends at %d of %d", n, last, size)
		}
	}
	if _, err := (&Plan{Splits: []Split{{Ranges: []Range{{file + "-gone", 0, 10}}}}}).spots(&Env{}, job); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is gone: %v", err)
	}
}

// TestKeySampler keeps copies of the first keys, as long as they may be, and says once that it has enough.
func TestKeySampler(t *testing.T) {
	k := &keySampler{longest: 5}
	for _, x := range []struct {
		stop, emit, keys int
		enough           bool
	}{{3, 2, 2, false}, {3, 1, 3, true}, {3, 1, 3, true}, {5, 1, 4, false}, {5, 3, 5, true}, {20_000, 19_000, 19_005, false}} {
		k.stop = x.stop
		for range x.emit {
			key := fmt.Appendf(nil, "%05d-and-more", min(len(k.keys), k.stop-1))
			k.EmitInt(key, 1)
			clear(key)
		}
		if err := k.Failure(); len(k.keys) != x.keys || errors.Is(err, errEnough) != x.enough || k.Failure() != nil {
			t.Errorf("%+v: %d keys, %v", x, len(k.keys), err)
		}
	}
	for i, key := range k.keys {
		if string(key) != fmt.Sprintf("%05d", i) || cap(key) != len(key) {
			t.Fatalf("key %d is %q, and has room for %d", i, key, cap(key))
		}
	}
	k = &keySampler{longest: 1 << 20, stop: 2}
	long := make([]byte, 100<<10) // more than keys share
	if k.Emit(long, nil); len(k.keys) != 1 || len(k.keys[0]) != len(long) {
		t.Errorf("a long key is kept as %d bytes", len(k.keys[0]))
	}
}

// writes takes so many records, and then fails.
type writes struct {
	left int
	got  []string
}

func (w *writes) Write(key, value []byte) error {
	if w.left--; w.left < 0 {
		return errDisk
	}
	w.got = append(w.got, fmt.Sprintf("%s=%x", key, value))
	return nil
}

func (w *writes) Close() error { return nil }

// TestEmittersStopAtAFailure: nothing is written after it, and the first one is told.
func TestEmittersStopAtAFailure(t *testing.T) {
	minus := "7fffffffffffffff"
	want := []string{"a=62", "c=" + minus, "d=6566"}
	w := &writes{left: 3}
	e := &writeEmitter{to: w, task: &mapreduce.Task{}}
	call := func(to mapreduce.Emitter) {
		to.Emit([]byte("a"), []byte("b"))
		to.EmitInt([]byte("c"), -1)
	}
	call(e)
	if e.EmitParts([]byte("d"), []byte("e"), []byte("f")); e.Failure() != nil || e.records != 3 || !slices.Equal(w.got, want) {
		t.Errorf("%q, %d records, %v", w.got, e.records, e.Failure())
	}
	e.Emit([]byte("x"), nil)
	w.left = 10
	call(e)
	if e.EmitParts([]byte("x"), nil); !errors.Is(e.Failure(), errDisk) || !slices.Equal(w.got, want) {
		t.Errorf("after a failure: %q, %v", w.got, e.Failure())
	}
	w = &writes{left: 2}
	f := &funcEmitter{to: w.Write}
	call(f)
	if f.err != nil || !slices.Equal(w.got, want[:2]) {
		t.Errorf("%q, %v", w.got, f.err)
	}
	f.Emit([]byte("x"), nil)
	w.left = 10
	if call(f); !errors.Is(f.err, errDisk) || !slices.Equal(w.got, want[:2]) {
		t.Errorf("after a failure: %q, %v", w.got, f.err)
	}
	w = &writes{left: 10}
	h := &holdEmitter{task: &mapreduce.Task{}}
	key := []byte("a")
	h.Emit(key, []byte("b"))
	key[0] = 'x'
	h.EmitInt([]byte("c"), -1)
	to := &writeEmitter{to: w, task: &mapreduce.Task{}}
	h.release(to)
	if h.release(to); !slices.Equal(w.got, want[:2]) {
		t.Errorf("what was held is given as %q", w.got)
	}
}

// chunkless likes no chunk.
type chunkless struct{ words }

func (chunkless) MapChunk([]byte, int64, mapreduce.Emitter) error { return errDisk }

// TestFailuresOfMaps: a chunk that user code does not like, an input that is gone and a format that opens nothing fail the attempt, with the file in the message.
func TestFailuresOfMaps(t *testing.T) {
	for what, x := range map[string]struct {
		code  mapreduce.Mapper
		spoil func(s *stage) error
		want  string
	}{
		"chunk":  {chunkless{}, func(*stage) error { return nil }, errDisk.Error()},
		"gone":   {words{}, func(s *stage) error { return os.Remove(s.dir + "/in-0") }, "no such file"},
		"format": {words{}, func(s *stage) error { s.job.Map.Format = closed{mapreduce.Text}; return nil }, "it is closed"},
		"cut":    {words{}, func(s *stage) error { return os.Truncate(s.dir+"/in-0", 0) }, ""},
	} {
		for _, mapOnly := range []bool{false, true} {
			s := newStage(t, mapreduce.Job{Map: mapOf(x.code), MapOnly: mapOnly}, 1000, 1, "a b\nc\n")
			if err := x.spoil(s); err != nil {
				t.Fatal(err)
			}
			res, err := s.runMap(t.Context(), 0)
			if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s, map only %v: %v", what, mapOnly, err)
			}
			if res.Output != nil {
				err = res.Output.Release()
			}
			if left := list(t, s.env.Scratch); left != "" || s.env.Pool.InUse() != 0 {
				t.Errorf("%s, map only %v: %q and %d bytes are left, %v", what, mapOnly, left, s.env.Pool.InUse(), err)
			}
		}
	}
}

// closed is a format that opens nothing.
type closed struct{ mapreduce.InputFormat }

func (closed) Open(mapreduce.Source) (mapreduce.RecordReader, error) {
	return nil, errors.New("it is closed")
}

// TestCodeThatIsNotThere: a mapper, a combiner or a reducer that cannot be made fails its attempt, and leaves nothing.
func TestCodeThatIsNotThere(t *testing.T) {
	none := func(*mapreduce.Task) (mapreduce.Reducer, error) { return nil, errDisk }
	for what, job := range map[string]mapreduce.Job{
		"mapper":   {Map: mapreduce.Map{Value: mapreduce.Int64, New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return nil, errDisk }}, Reduce: reduceOf(add)},
		"combiner": {Map: mapOf(words{}), Reduce: reduceOf(add), Combine: mapreduce.Reduce{Value: mapreduce.Int64, New: none}},
		"reducer":  {Map: mapOf(words{}), Reduce: mapreduce.Reduce{Value: mapreduce.Int64, New: none}},
	} {
		s := newStage(t, job, 1000, 1, "a b\nc\n")
		if parts, err := s.run(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("%s: %q, %v", what, parts, err)
		}
		if left := list(t, s.env.Scratch); left != "" || s.env.Pool.InUse() != 0 {
			t.Errorf("%s: %q and %d bytes are left", what, left, s.env.Pool.InUse())
		}
		if job.Combine.IsZero() {
			continue
		}
		if _, err := RunReduce(t.Context(), s.work(mapreduce.ReduceTask, 0), Sources{}); !errors.Is(err, errDisk) {
			t.Errorf("%s of a reduce: %v", what, err)
		}
	}
}

// TestWhatSpillsIsCounted: a map whose output is larger than memory says how much it wrote before its end, and what its combiner took and gave.
func TestWhatSpillsIsCounted(t *testing.T) {
	var text strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&text, "word-%05d\n", i/2)
	}
	for _, combine := range []bool{false, true} {
		job := mapreduce.Job{Map: mapOf(words{}), Reduce: reduceOf(add)}
		if combine {
			job.Combine = reduceOf(add)
		}
		s := newStage(t, job, 1<<30, 1, text.String())
		s.env.Pool = shuffle.NewPool(256 << 10)
		if _, err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.count(mapreduce.MapOutputBytes); n != 30_000*(10+8) {
			t.Errorf("combine %v: %d bytes of map output", combine, n)
		}
		spills, records, bytes := s.count(mapreduce.Spills), s.count(mapreduce.SpilledRecords), s.count(mapreduce.SpilledBytes)
		all := int64(30_000) // but for what is in memory at the end
		if combine {
			all = 15_000
		}
		if spills < 2 || records < all/2 || records > 2*all || bytes < records*(10+8) {
			t.Errorf("combine %v: %d spills, %d records, %d bytes", combine, spills, records, bytes)
		}
		if in, out := s.count(mapreduce.CombineInputRecords), s.count(mapreduce.CombineOutputRecords); combine != (in >= 30_000) || combine != (out >= 15_000) || out > in || combine && out > in-15_000 {
			t.Errorf("combine %v: %d records in, %d out", combine, in, out)
		}
	}
}
