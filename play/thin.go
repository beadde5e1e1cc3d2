package play

import "github.com/millrace/millrace/scheduler/drive"

// thinning is which decisions are kept: launches and starts whose number every divides, and all other kinds.
type thinning struct {
	every   int64   // 0 as 1
	seen    int64   // decisions that may be left out, so far
	numbers []int64 // of those that are kept; -1 where they always are
}

// Expect says how many tasks will start at least. The recorder then records nothing that it would leave out later.
func (r *Recorder) Expect(tasks int) {
	for r.thin.every = 1; int64(tasks)/r.thin.every >= MaxDecisions; {
		r.thin.every *= 2
	}
	r.expected = min(tasks+tasks/16, maxAttempts) // some have a second attempt
}

// keeps reports whether the next decision is to be kept, and makes room for it.
func (r *Recorder) keeps(do drive.Do) bool {
	t := &r.thin
	number := int64(-1)
	if do == drive.Launch || do == drive.Start {
		number = t.seen
		t.seen++
		if t.every > 1 && number%t.every != 0 {
			r.rec.Left++
			return false
		}
	}
	if len(t.numbers) >= MaxDecisions {
		r.halve()
		if len(t.numbers) >= MaxDecisions || number >= 0 && number%t.every != 0 { // all of them stop something, or this one is left out
			r.rec.Left++
			return false
		}
	}
	t.numbers = append(t.numbers, number)
	return true
}

// halve keeps every second decision of those that may be left out.
func (r *Recorder) halve() {
	t, d := &r.thin, &r.rec.Decisions
	t.every = max(1, t.every) * 2
	n := 0
	for i, number := range t.numbers {
		if number >= 0 && number%t.every != 0 {
			r.rec.Left++
			continue
		}
		t.numbers[n], d.At[n], d.Do[n], d.Job[n], d.Attempt[n], d.Text[n], d.Others[n] = number, d.At[i], d.Do[i], d.Job[i], d.Attempt[i], d.Text[i], d.Others[i]
		n++
	}
	t.numbers, d.At, d.Do, d.Job, d.Attempt, d.Text, d.Others = t.numbers[:n], d.At[:n], d.Do[:n], d.Job[:n], d.Attempt[:n], d.Text[:n], d.Others[:n]
}

// finish turns times into differences, and removes sentences and lists that no decision uses any longer.
func (r *Recorder) finish() {
	d, last := &r.rec.Decisions, int64(0)
	for i, at := range d.At {
		d.At[i], last = at-last, at
	}
	if r.thin.every < 2 {
		return
	}
	r.rec.Every = int(r.thin.every)
	lists := renumber(d.Others, r.rec.Others, &r.rec.Others)
	for i := range d.Others {
		if d.Others[i] >= 0 {
			d.Others[i] = lists[d.Others[i]] - 1
		}
	}
	used := append([]int32{}, d.Text...)
	for _, list := range r.rec.Others {
		for k := 1; k < len(list); k += 2 {
			used = append(used, list[k])
		}
	}
	texts := renumber(used, r.rec.Texts, &r.rec.Texts)
	for i := range d.Text {
		d.Text[i] = texts[d.Text[i]] - 1
	}
	for _, list := range r.rec.Others {
		for k := 1; k < len(list); k += 2 {
			list[k] = texts[list[k]] - 1
		}
	}
}

// renumber keeps what is used, in the order of its first use, and returns the new place of each, from 1.
func renumber[T any](used []int32, all []T, kept *[]T) []int32 {
	places, out := make([]int32, len(all)), make([]T, 0, len(all))
	for _, i := range used {
		if i >= 0 && places[i] == 0 {
			out = append(out, all[i])
			places[i] = int32(len(out))
		}
	}
	*kept = out
	return places
}
