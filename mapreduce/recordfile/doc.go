// Package recordfile reads and writes the native record file: key-value records
// of any bytes in compressed, checksummed blocks that can be split anywhere.
// docs/formats/recordfile.md draws the format.
//
// To write, create a Writer on something empty, Append the records in order and
// Close: only then is the file whole. The Writer does not close what it writes to.
//
//	w, err := recordfile.NewWriter(f, recordfile.DefaultOptions())
//	err = w.Append(key, value)
//	err = w.Close()
//
// To read, create a Reader for a byte range and loop as over a bufio.Scanner:
//
//	r, err := recordfile.NewReader(f, size, 0, size, recordfile.DefaultLimits())
//	for r.Next() {
//		use(r.Key(), r.Value()) // valid until the next call of Next
//	}
//	err = r.Err()
//
// A range yields the blocks that start inside it. However a file is cut, its
// ranges together yield every record once. Damage anywhere in the file is found
// by the reader of the range it is in or of the range before, so a caller that
// reads all ranges must treat an error in any of them as an error of the file.
//
// Neither type is safe for concurrent use; any number of Readers may share one
// io.ReaderAt.
package recordfile
