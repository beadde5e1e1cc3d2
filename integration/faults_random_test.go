package integration

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// randomMaps is a job whose maps put out another word each time they run: every key is a map and a number, its value that word.
func randomMaps(list []mapreduce.Job) []mapreduce.Job {
	made := list[0].Map.New
	list[0].Map.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		if _, err := made(t); err != nil {
			return nil, err
		}
		word, done := rand.Text(), false
		return mapreduce.MapperFunc(func(_ mapreduce.Record, out mapreduce.Emitter) error {
			for k := 0; k < 40 && !done; k++ {
				out.Emit(fmt.Appendf(nil, "%d.%d", t.Index, k), []byte(word))
			}
			done = true
			return nil
		}), nil
	}
	made2 := list[0].Reduce.New
	list[0].Reduce.New = func(t *mapreduce.Task) (mapreduce.Reducer, error) {
		if _, err := made2(t); err != nil {
			return nil, err
		}
		return mapreduce.ReducerFunc(func(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
			for values.Next() {
				out.Emit(key, values.Value())
			}
			return nil
		}), nil
	}
	return list
}

// TestRandomMaps: maps whose output is random run again, because their worker died, after one reduce was done and another had
// read all. The output holds one version of each map.
func TestRandomMaps(t *testing.T) {
	r := newRig(t, rigConfig{workers: 4, splits: 8, reducers: 4, slots: 2})
	r.random.Store(true)
	wait := func(task *mapreduce.Task, c chan struct{}) {
		select {
		case <-c:
		case <-task.Context().Done():
		}
	}
	died, release := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	var mu sync.Mutex // guards tries and keeper
	tries, keeper := map[int]int{}, wire.NodeName("")
	r.hooks.Store(&hooks{onReduce: func(node wire.NodeName, task *mapreduce.Task) error {
		mu.Lock()
		tries[task.Index]++
		first := tries[task.Index] == 1
		if task.Index == 1 && first {
			keeper = node
		}
		mu.Unlock()
		switch {
		case !first || task.Index == 0:
			return nil
		case task.Index == 1: // has read all, and ends when the maps have run again
			wait(task, release)
			return nil
		}
		wait(task, died) // the others read all again
		return errors.New("not yet")
	}})
	id := r.submit(wire.JobSpec{})
	r.Wait("reduce 0 is done, and all others have read all", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(tries) == 4 && r.Status(id).Reduces.Done == 1
	})
	victim := wire.NodeName("")
	for _, w := range r.Workers {
		if s := r.Status(id); string(w.Name) != s.Driver && w.Name != keeper && len(r.mapsOn(id, w.Name)) > 0 {
			victim = w.Name
			w.Stop()
			break
		}
	}
	close(died)
	r.Wait("its maps have run again", func() bool { return len(r.mapsOn(id, victim)) == 0 && r.Status(id).Maps.Done == 8 })
	free()
	if s := r.Finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	parts, err := readDir(r.cl, fmt.Sprint("/out", r.runs))
	if err != nil {
		t.Fatal(err)
	}
	delete(parts, "_SUCCESS")
	words, lines := map[string]map[string]bool{}, 0
	for _, b := range parts {
		for line := range bytes.Lines(b) {
			key, word, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
			index, _, _ := strings.Cut(key, ".")
			if words[index] == nil {
				words[index] = map[string]bool{}
			}
			words[index][word] = true
			lines++
		}
	}
	for index, list := range words {
		if len(list) != 1 {
			t.Errorf("the output holds %d versions of map %s", len(list), index)
		}
	}
	if lines != 8*40 {
		t.Errorf("%d lines, want %d", lines, 8*40)
	}
	said := map[wire.PastKind]bool{}
	for _, e := range r.events(id) {
		if e.Task == wire.ReduceTask && strings.Contains(e.Text, "run again with another output") {
			said[e.Kind] = true
		}
	}
	if !said[wire.PastOutputLost] || !said[wire.PastLost] {
		t.Errorf("reduces that had read another output: %v; want one that was done, and one that ran", said)
	}
}
