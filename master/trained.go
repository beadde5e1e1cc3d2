package master

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/policies"
)

// TrainedFile is the name of the hybrid policy's classifier in the master's directory. MaxTrained bounds its size: the
// classifier is a parameter of the policy, and so appears in the decision log and in the history.
const (
	TrainedFile = "hybrid.json"
	MaxTrained  = 256 << 10
)

// choose returns a policy with the parameters of live clusters. hybrid gets the trained classifier if there is one and
// no other is given.
func (m *Master) choose(name string, given map[string]string) (wire.Choice, error) {
	c := wire.Choice{Name: name, Params: policies.LiveParams(name, given)}
	if name != "hybrid" {
		return c, nil
	}
	for p := range given {
		if strings.EqualFold(p, "model") {
			return c, nil
		}
	}
	file := filepath.Join(m.cfg.Dir, TrainedFile)
	text, err := readTrained(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w (remove it, or train anew: millrace scheduler train hybrid)", file, err)
	}
	c.Params["model"] = text
	if _, err := policies.Policy(name, c.Params); err != nil {
		return c, fmt.Errorf("%s: %w (remove it, or train anew: millrace scheduler train hybrid)", file, err)
	}
	return c, nil
}

func readTrained(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxTrained+1))
	if err == nil && len(b) > MaxTrained {
		err = fmt.Errorf("more than %d bytes", MaxTrained)
	}
	return string(b), err
}
