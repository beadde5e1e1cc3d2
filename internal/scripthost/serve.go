package scripthost

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/scheduler/script"
)

// order is the first line that the process reads.
type order struct {
	Name, Text string
	Situations int
}

// loaded is the first line that it writes.
type loaded struct {
	Form script.Form
	Err  string `json:",omitempty"`
}

// answer is each further line.
type answer struct {
	script.Answer
	Err string `json:",omitempty"`
}

const (
	maxQuestion = 64 << 20 // bytes: some hundred thousand jobs
	maxErr      = 4 << 10
	// abandoned is after how long a question ends the process, if its caller does not: that may be gone.
	abandoned = time.Minute
)

// Serve reads a script and answers questions about it until there are no more. leave ends the process with a reason.
func Serve(in io.Reader, out io.Writer, leave func(why string)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxQuestion)
	write := json.NewEncoder(out)
	if !lines.Scan() {
		return errors.Join(errors.New("no script was given"), lines.Err())
	}
	watch := time.AfterFunc(abandoned, func() { leave("the script took more than " + abandoned.String()) })
	defer watch.Stop()
	p, err := load(lines.Bytes())
	if err != nil {
		return write.Encode(loaded{Err: clip(err.Error())})
	}
	if err := write.Encode(loaded{Form: p.Form()}); err != nil {
		return err
	}
	for watch.Stop(); lines.Scan(); watch.Stop() {
		watch.Reset(abandoned)
		if err := write.Encode(reply(p, lines.Bytes())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// reply answers one question.
func reply(p *script.Program, line []byte) (a answer) {
	var q script.Question
	err := json.Unmarshal(line, &q)
	if err == nil && q.Kind >= scheduler.Driver {
		err = fmt.Errorf("a question about tasks of kind %d", q.Kind)
	}
	if err == nil {
		a.Answer, err = p.Ask(&q)
	}
	if err != nil {
		a.Err = clip(err.Error())
	}
	return a
}

// load loads a script and checks it.
func load(line []byte) (*script.Program, error) {
	var o order
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, err
	}
	p, err := script.Load(o.Name, o.Text)
	if err != nil || o.Situations == 0 {
		return p, err
	}
	found := examine.Policy(func() scheduler.Policy {
		again, err := script.New(o.Name, o.Text)
		if err != nil {
			panic(err) // it was parsed before
		}
		return again
	}, examine.Promises{HoldsReduces: true}, o.Situations, nil)
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s(millrace scheduler test %s.star shows the same)", o.Name, found[0], o.Name)
	}
	return p, nil
}

func clip(s string) string {
	if len(s) > maxErr {
		s = strings.ToValidUTF8(s[:maxErr], "") + "…"
	}
	return s
}
