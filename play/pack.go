package play

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/millrace/millrace/scheduler/drive"
)

// Pack encodes recordings for a page to read: the length of a head in four bytes; the head, which is the recordings as
// JSON without their columns; and then the columns, one recording after the other, each as it is listed below. Numbers
// are varints, most of them the difference from what a reader would expect: a column of expected numbers compresses to
// almost nothing. assets/unpack.js reads them, and expects the same.
func Pack(recordings []*Recording) ([]byte, error) {
	type counts struct {
		*Recording
		Attempts  int `json:"attempts"`
		Decisions int `json:"decisions"`
		Net       int `json:"net"`
		Others    int `json:"others"`
		// Grain is what the lengths of attempts are multiples of, in milliseconds.
		Grain int64 `json:"grain"`
	}
	heads := make([]counts, len(recordings))
	for i, r := range recordings {
		heads[i] = counts{r, len(r.Attempts.Job), len(r.Decisions.At), len(r.Net.At), len(r.Others), grainOf(&r.Attempts)}
	}
	head, err := json.Marshal(heads)
	if err != nil {
		return nil, fmt.Errorf("pack recordings: %w", err)
	}
	parts, before := make([]packer, len(recordings)), map[taskOf]int64{}
	var group sync.WaitGroup
	for i, r := range recordings {
		took := lengthsOf(&r.Attempts, heads[i].Grain, before)
		group.Go(func() { parts[i].recording(r, took) })
	}
	group.Wait()
	out := append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)
	for i := range parts {
		out = append(out, parts[i].out...)
	}
	return out, nil
}

// recording appends the columns of a recording.
func (p *packer) recording(r *Recording, took lengths) {
	p.out = make([]byte, 0, 14*len(r.Attempts.Job)+8*len(r.Decisions.At)+6*len(r.Net.At)+12*len(r.Others)) // about: most numbers have a byte or two
	p.about(r.Decisions.Attempt)
	p.attempts(&r.Attempts, took, named(r.Decisions.Attempt, len(r.Attempts.Job)))
	p.decisions(&r.Decisions, &r.Attempts)
	p.lists(r.Others)
	p.net(&r.Net)
}

// packText packs recordings into text for a page.
func packText(recordings []*Recording) (string, error) {
	plain, err := Pack(recordings)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	text := base64.NewEncoder(base64.StdEncoding, &out)
	zip, err := gzip.NewWriterLevel(text, gzip.BestCompression)
	if err == nil {
		_, err = zip.Write(plain)
		err = errors.Join(err, zip.Close(), text.Close())
	}
	if err != nil {
		return "", fmt.Errorf("pack recordings: %w", err)
	}
	return out.String(), nil
}

// taskOf is a task of a job, by the job's place in the recording.
type taskOf struct {
	job, task int32
	kind      uint8
}

// packer appends columns.
type packer struct {
	out []byte
}

// put appends signed numbers.
func put[T int32 | int64](p *packer, n int, at func(i int) T) {
	for i := range n {
		p.out = binary.AppendVarint(p.out, int64(at(i)))
	}
}

// after appends differences from the number before.
func after(p *packer, list []int32) {
	last := int32(0)
	put(p, len(list), func(i int) int32 {
		d := list[i] - last
		last = list[i]
		return d
	})
}

// about appends the attempts that decisions are about: 0 for none. Most start the attempt after the last.
func (p *packer) about(attempts []int32) {
	next := int32(0)
	for _, x := range attempts {
		if x < 0 {
			p.out = append(p.out, 0)
			continue
		}
		p.out = binary.AppendUvarint(p.out, zigzag(x-next)+1)
		next = x + 1
	}
}

func (p *packer) decisions(d *Decisions, a *Attempts) {
	starts := sumsOf(a.Start)
	p.out = append(p.out, d.Do...)
	at, last := int64(0), int64(0)
	for i, x := range d.Attempt {
		at += d.At[i]
		if x < 0 { // otherwise it is the attempt's
			p.out = binary.AppendVarint(p.out, int64(d.Job[i]))
		}
		if x < 0 || d.Do[i] != uint8(drive.Launch) { // otherwise it is the start of the attempt
			p.out = binary.AppendVarint(p.out, at-last)
		} else if at != starts[x] {
			panic(fmt.Sprintf("attempt %d starts at %d, and is decided at %d", x, starts[x], at)) // the recorder does both at once
		}
		last = at
	}
	p.places(d.Text)
	p.places(d.Others)
}

// sumsOf turns differences into times.
func sumsOf(list []int64) []int64 {
	out, sum := make([]int64, len(list)), int64(0)
	for i, d := range list {
		sum += d
		out[i] = sum
	}
	return out
}

func zigzag(x int32) uint64 { return uint64(uint32(x<<1) ^ uint32(x>>31)) }

// places appends indices into a list that was filled in their order: 0 for a new entry.
func (p *packer) places(list []int32) {
	next := int32(0)
	put(p, len(list), func(i int) int32 {
		d := list[i] - next
		next = max(next, list[i]+1)
		return d
	})
}

// lists appends lists of pairs: their lengths, and what differs from the list before.
func (p *packer) lists(lists [][]int32) {
	put(p, len(lists), func(i int) int32 { return int32(len(lists[i])) })
	var last []int32
	for _, list := range lists {
		for i, x := range list {
			if i < len(last) {
				x -= last[i]
			}
			p.out = binary.AppendVarint(p.out, int64(x))
		}
		last = list
	}
}

func (p *packer) net(n *Net) {
	put(p, len(n.At), func(i int) int64 { return n.At[i] })
	after(p, n.Rack)
	p.out = append(p.out, n.Congested...)
	for _, shares := range [][]int32{n.Up, n.Down} {
		last := map[int32]int32{} // by rack
		put(p, len(shares), func(i int) int32 {
			d := shares[i] - last[n.Rack[i]]
			last[n.Rack[i]] = shares[i]
			return d
		})
	}
}
