package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// shapeFlag adds the flag that says how traced sizes become tasks.
func shapeFlag(f *pflag.FlagSet, into *string) {
	f.StringVar(into, "workload", trace.Fine, "how sizes become tasks: fine (a reduce for each GiB) or swim (as the generator SWIM), with settings: swim,machines=40,reduce-bytes=64MiB")
}

// ratesFlag adds the flag that says how long tasks take.
func ratesFlag(f *pflag.FlagSet, into *string) {
	f.StringVar(into, "rates", "middle", "how fast tasks compute: copy, middle or slow, or MAP:REDUCE in bytes a second")
}

// shapeSettings are the settings that may follow the kind of a shape.
const shapeSettings = "machines, containers, block, reduce-bytes, min-input, min-shuffle, min-output"

// parseShape parses "fine" or "swim", with settings after it. Settings not given are those of a cluster of so many
// machines and containers. The caller prefixes errors with the name of the key or flag.
func parseShape(text string, machines, containers int, scale float64) (trace.Shape, error) {
	kind, settings, more := strings.Cut(text, ",")
	var s trace.Shape
	switch kind {
	case trace.Fine:
		s = trace.FineShape(containers)
	case trace.SWIM:
		s = trace.SWIMShape(machines)
	default:
		return s, fmt.Errorf("is %q: write swim or fine, with settings behind it if you like: swim,machines=40", text)
	}
	s.Scale = scale
	for more {
		var one string
		one, settings, more = strings.Cut(settings, ",")
		if err := setShape(&s, one); err != nil {
			return s, fmt.Errorf("is %q: %w", text, err)
		}
	}
	if err := s.Validate(); err != nil {
		return s, fmt.Errorf("is %q: %w", text, err)
	}
	return s, nil
}

// setShape applies one NAME=VALUE.
func setShape(s *trace.Shape, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	switch name {
	case "machines":
		return setCount(&s.Machines, name, value)
	case "containers":
		return setCount(&s.Containers, name, value)
	case "block":
		return setSize(&s.BlockBytes, name, value)
	case "reduce-bytes":
		return setSize(&s.ReduceBytes, name, value)
	case "min-input":
		return setSize(&s.MinInput, name, value)
	case "min-shuffle":
		return setSize(&s.MinShuffle, name, value)
	case "min-output":
		return setSize(&s.MinOutput, name, value)
	}
	return fmt.Errorf("unknown setting %q (known: %s)", name, shapeSettings)
}

const maxShape = 1 << 24 // machines or containers

func setCount(into *int, name, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxShape {
		return fmt.Errorf("%s %q is not a number in 1..%d", name, value, maxShape)
	}
	*into = n
	return nil
}

func setSize(into *int64, name, value string) error {
	n, err := human.ParseBytes(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	*into = n
	return nil
}

// parseRates parses a name of sim.NamedRates, or MAP:REDUCE in bytes a second.
func parseRates(text string) (sim.Rates, error) {
	if r, ok := sim.NamedRates[text]; ok {
		return r, nil
	}
	first, second, _ := strings.Cut(text, ":")
	m, err := human.ParseBytes(first)
	r, rerr := human.ParseBytes(second)
	if err != nil || rerr != nil || m < 1 || r < 1 {
		return sim.Rates{}, fmt.Errorf("is %q: write copy, middle or slow, or the bytes a second of maps and reduces, as 1500KB:8MB", text)
	}
	return sim.Rates{Map: float64(m), Reduce: float64(r)}, nil
}
