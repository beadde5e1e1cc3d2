package mapreduce

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/millrace/millrace/mapreduce/recordfile"
)

// RecordFile reads the native record file (docs/formats/recordfile.md): pairs of
// encoded bytes, compressed and checksummed in blocks, splittable.
var RecordFile InputFormat = recordInput{}

// JoinedRecords reads record files, too. Each pair becomes one key: the key followed by the value. They are stored
// that way in the file, so nothing is copied, which matters for large ones.
var JoinedRecords InputFormat = recordInput{joined: true}

// RecordOutput writes the native record file, compressed with s2. The file says the types of its pairs, and [Records] of
// other types refuses it.
var RecordOutput OutputFormat = recordOutput{}

type recordInput struct{ joined bool }

func (recordInput) Name() string           { return "record-file" }
func (recordInput) Splittable([]byte) bool { return true }

func (f recordInput) Open(src Source) (RecordReader, error) {
	if err := src.checkRange(); err != nil {
		return nil, err
	}
	src.willRead(src.Offset, src.end())
	limits := recordfile.DefaultLimits()
	limits.Room = src.Giant
	r, err := recordfile.NewReader(src.R, src.Size, src.Offset, src.end()-src.Offset, limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	if err := src.checkTypes(r.Types()); err != nil {
		return nil, err
	}
	return &recordReader{r: r, name: src.Name, max: src.maxRecord(), joined: f.joined}, nil
}

type recordReader struct {
	r    *recordfile.Reader
	name string
	max  int
	err  error

	joined bool
}

var _ RecordReader = (*recordReader)(nil)

func (r *recordReader) Next() bool {
	if r.err != nil || !r.r.Next() {
		return false
	}
	if n := len(r.r.Pair()); n > r.max {
		r.err = tooLarge(r.name, r.r.Offset(), itoa(n), r.max)
		return false
	}
	return true
}

func (r *recordReader) Record() Record {
	if r.joined {
		return Record{Key: r.r.Pair(), Offset: r.r.Offset()}
	}
	return Record{Key: r.r.Key(), Value: r.r.Value(), Offset: r.r.Offset()}
}

func (r *recordReader) Err() error {
	if r.err != nil {
		return r.err
	}
	if err := r.r.Err(); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	return nil
}

func (r *recordReader) Close() error {
	r.r.Close()
	return nil
}

type recordOutput struct{}

func (recordOutput) Name() string { return "record-file" }

func (recordOutput) Open(w io.Writer, key, value Type) (RecordWriter, error) {
	o := recordfile.DefaultOptions()
	o.Types = recordfile.Types{Key: storedName(key), Value: storedName(value)}
	rw, err := recordfile.NewWriter(w, o)
	return recordWriter{rw}, err
}

// longestName is the longest name of an encoding that is written into a file as it is.
const longestName = 1000

// storedName returns the name of a type's encoding as files have it. Of a long one it is the beginning and a hash.
func storedName(t Type) string {
	name := strings.ReplaceAll(encodingOf(t), "\n", " ")
	if len(name) <= longestName {
		return name
	}
	return fmt.Sprintf("%s... %016x", strings.ToValidUTF8(name[:longestName], ""), xxh3.HashString(name))
}

// checkTypes compares the types of a record file with those that the map takes. Old files do not say theirs.
func (s Source) checkTypes(in recordfile.Types) error {
	if in == (recordfile.Types{}) {
		return nil
	}
	check := func(what, have string, take Type) error {
		if take == nil || fits(have, storedName(take)) {
			return nil
		}
		return &typeError{fmt.Sprintf("%s holds %s of type %s, the map takes %s: read it with the types that it was written with", s.Name, what, have, take.TypeName())}
	}
	return errors.Join(check("keys", in.Key, s.InKey), check("values", in.Value, s.InValue))
}

type recordWriter struct{ w *recordfile.Writer }

func (r recordWriter) Write(key, value []byte) error { return r.w.Append(key, value) }
func (r recordWriter) Close() error                  { return r.w.Close() }
