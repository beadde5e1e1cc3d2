package history

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/millrace/millrace/internal/wire"
)

// A text is the text of a script, with the jobs that ran under it. It is deleted with the last of them.
type text struct {
	kept bool // in the store, or in the batch under construction
	jobs map[uint64]bool
}

func keyOfText(sum string) []byte { return append([]byte{textKey}, sum...) }

func appendText(t string) []byte { return append([]byte{Version}, t...) }

// loadTexts finds the texts in the store. It deletes those that no job refers to, which an older version left.
func (s *Store) loadTexts() error {
	b := s.db.NewBatch()
	err := s.eachKey([]byte{textKey}, []byte{textKey + 1}, func(key, _ []byte) (bool, error) {
		if t := s.texts[string(key[1:])]; t != nil {
			t.kept = true
			return true, nil
		}
		return true, b.Delete(append([]byte{}, key...), nil)
	})
	if err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

// refer notes which text a job refers to. It returns nil if the job refers to none.
func (s *Store) refer(n uint64, under *wire.Policies) *text {
	sum := under.Refers()
	if sum == "" {
		return nil
	}
	t := s.texts[sum]
	if t == nil {
		t = &text{jobs: map[uint64]bool{}}
		s.texts[sum] = t
	}
	t.jobs[n] = true
	return t
}

// putJob writes the row of a job. The text of its script is written once.
func (s *Store) putJob(b *pebble.Batch, n uint64, j *wire.PastJob) error {
	row := *j
	under, code := j.Under.Refer()
	row.Under = under
	if t := s.refer(n, under); t != nil && !t.kept && code != "" {
		t.kept = true
		if err := b.Set(keyOfText(under.Refers()), appendText(code), nil); err != nil {
			return err
		}
	}
	value, err := appendJob(&row)
	if err != nil {
		return err
	}
	return b.Set(keyOfJob(n), value, nil)
}

// forget removes a deleted job from the text that it refers to.
func (s *Store) forget(b *pebble.Batch, n uint64, j *wire.PastJob) error {
	sum := j.Under.Refers()
	t := s.texts[sum]
	if t == nil {
		return nil
	}
	if delete(t.jobs, n); len(t.jobs) > 0 {
		return nil
	}
	delete(s.texts, sum)
	return b.Delete(keyOfText(sum), nil)
}

// reader reads rows and the texts that they refer to, each text once. Rows written by older versions contain their text.
type reader struct {
	s     *Store
	texts map[string]string
}

func (r *reader) job(value []byte) (*wire.PastJob, error) {
	j, err := parseJob(value)
	if err == nil {
		j.Under = j.Under.Restore(func(sum string) string {
			if r.texts == nil {
				r.texts = map[string]string{}
			}
			if _, known := r.texts[sum]; !known {
				r.texts[sum], err = r.s.text(sum)
			}
			return r.texts[sum]
		})
	}
	return j, err
}

// text returns a text of the store, or "" if it is not there.
func (s *Store) text(sum string) (string, error) {
	v, err := s.get(keyOfText(sum))
	if err != nil || v == nil {
		return "", err
	}
	if err := checkVersion(v); err != nil {
		return "", err
	}
	return string(v[1:]), nil
}
