package mapreduce

import "github.com/millrace/millrace/internal/pages"

// WholeFile reads each file as one record: the name is the key, the content the
// value. An empty file is a record, too. A file must fit the record limit.
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
	return &wholeReader{src: src, done: src.Offset > 0, leave: func() {}}, nil
}

type wholeReader struct {
	src   Source
	rec   Record
	done  bool
	leave func() // releases the room of a giant
	err   error
}

var _ RecordReader = (*wholeReader)(nil)

func (w *wholeReader) Next() bool {
	if w.done {
		_ = w.Close()
		return false
	}
	w.done = true
	if w.src.Size >= pages.Large && w.src.Giant != nil {
		leave, err := w.src.Giant(w.src.Size)
		if err != nil {
			w.err = err
			return false
		}
		w.leave = leave
	}
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

// Close releases the content and its room.
func (w *wholeReader) Close() error {
	w.rec = Record{}
	w.leave()
	w.leave = func() {}
	return nil
}
