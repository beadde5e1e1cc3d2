package mapreduce

// WholeFile reads each file as one record: the name is the key, the content the
// value. A file must fit the record limit.
var WholeFile InputFormat = wholeFormat{}

type wholeFormat struct{}

func (wholeFormat) Name() string           { return "whole-file" }
func (wholeFormat) Splittable([]byte) bool { return false }

func (wholeFormat) Open(src Source) (RecordReader, error) {
	if err := src.checkRange(); err != nil {
		return nil, err
	}
	if src.Size > int64(src.maxRecord()) {
		return nil, tooLarge(src.Name, 0, itoa(int(src.Size)), src.maxRecord())
	}
	return &wholeReader{src: src, done: src.Offset > 0}, nil
}

type wholeReader struct {
	src  Source
	rec  Record
	done bool
	err  error
}

var _ RecordReader = (*wholeReader)(nil)

func (w *wholeReader) Next() bool {
	if w.done {
		return false
	}
	w.done = true
	content := make([]byte, w.src.Size)
	if err := readFullAt(w.src.R, content, 0); err != nil {
		w.err = wrapRead(w.src.Name, 0, err)
		return false
	}
	w.rec = Record{Key: []byte(w.src.Name), Value: content}
	return true
}

func (w *wholeReader) Record() Record { return w.rec }
func (w *wholeReader) Err() error     { return w.err }
func (*wholeReader) Close() error     { return nil }
