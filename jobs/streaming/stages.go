package streaming

import (
	"bytes"

	"github.com/millrace/millrace/mapreduce"
)

// Map runs command as the mapper and splits its lines at the first tab. If combining is not empty, the mapper's
// output first passes through that command.
func Map(command, combining string) mapreduce.Map {
	return mapreduce.Map{
		Key: mapreduce.Bytes, Value: mapreduce.Bytes,
		New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
			m := &mapper{task: t, command: command}
			if combining != "" {
				m.combine = newCombiner(t, combining)
			}
			return m, nil
		},
	}
}

// MapOnly runs command as the mapper of a map-only job. Its lines are the output.
func MapOnly(command string) mapreduce.Map {
	return mapreduce.Map{
		Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
		New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
			return &mapper{task: t, command: command, whole: true}, nil
		},
	}
}

// mapper feeds lines to a command. It starts the command at the first line, when the name of the input file is
// known.
type mapper struct {
	task    *mapreduce.Task
	command string
	whole   bool      // lines are not split
	combine *combiner // nil for none
	proc    *process
	out     mapreduce.Emitter
}

var (
	_ mapreduce.ChunkMapper = (*mapper)(nil)
	_ mapreduce.Finisher    = (*mapper)(nil)
)

func (m *mapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	return m.MapChunk(r.Value, r.Offset, out)
}

func (m *mapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	m.out = out
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.proc.write(chunk, m.take); err != nil {
		return err
	}
	if len(chunk) == 0 || chunk[len(chunk)-1] != '\n' {
		if err := m.proc.write(newline, m.take); err != nil {
			return err
		}
	}
	return m.proc.flush(m.take)
}

func (m *mapper) begin() (err error) {
	if m.proc == nil {
		m.proc, err = start(m.task, "mapper", m.command)
	}
	return err
}

// Finish ends the command's input and takes the rest of its output.
func (m *mapper) Finish(out mapreduce.Emitter) error {
	m.out = out
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.proc.finish(m.take); err != nil || m.combine == nil {
		return err
	}
	return m.combine.flush(out)
}

// Close ends whatever a failed attempt leaves running.
func (m *mapper) Close() error {
	m.proc.close()
	if m.combine != nil {
		m.combine.proc.close()
	}
	return nil
}

func (m *mapper) take(lines batch) error {
	switch {
	case m.whole:
		emitLines(lines, m.out)
	case m.combine == nil:
		emitPairs(lines, m.out)
	default:
		for line := range bytes.Lines(lines) {
			key, value, _ := bytes.Cut(bytes.TrimSuffix(line, newline), tab)
			if err := m.combine.add(key, value, m.out); err != nil {
				return err
			}
		}
	}
	return failureOf(m.out)
}

// failureOf returns why an emitter takes no more pairs, if it says so: a command that goes on printing would not
// hear of it.
func failureOf(out mapreduce.Emitter) error {
	if f, ok := out.(interface{ Failure() error }); ok {
		return f.Failure()
	}
	return nil
}

func emitLines(lines batch, out mapreduce.Emitter) {
	for line := range bytes.Lines(lines) {
		out.Emit(bytes.TrimSuffix(line, newline), nil)
	}
}

var (
	newline = []byte{'\n'}
	tab     = []byte{'\t'}
)

// Reduce runs command as the reducer. Its lines are the output of the job.
func Reduce(command string) mapreduce.Reduce {
	return mapreduce.Reduce{
		Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
		New: func(t *mapreduce.Task) (mapreduce.Reducer, error) {
			return &reducer{task: t, command: command}, nil
		},
	}
}

// reducer feeds "key TAB value" lines to a command that it starts at the first one.
type reducer struct {
	task    *mapreduce.Task
	command string
	proc    *process
	out     mapreduce.Emitter
}

var (
	_ mapreduce.Reducer  = (*reducer)(nil)
	_ mapreduce.Finisher = (*reducer)(nil)
)

func (r *reducer) Reduce(_ []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	r.out = out
	if err := r.begin(); err != nil {
		return err
	}
	for values.Next() {
		if err := r.proc.writePair(values.Key(), values.Value(), r.take); err != nil {
			return err
		}
	}
	return nil
}

func (r *reducer) begin() (err error) {
	if r.proc == nil {
		r.proc, err = start(r.task, "reducer", r.command)
	}
	return err
}

// Finish ends the command's input and takes the rest of its output. A reduce without input still runs its command,
// as in Hadoop.
func (r *reducer) Finish(out mapreduce.Emitter) error {
	r.out = out
	if err := r.begin(); err != nil {
		return err
	}
	return r.proc.finish(r.take)
}

// Close ends whatever a failed attempt leaves running.
func (r *reducer) Close() error {
	r.proc.close()
	return nil
}

func (r *reducer) take(lines batch) error {
	emitLines(lines, r.out)
	return failureOf(r.out)
}
