package recordfile_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/millrace/millrace/mapreduce/recordfile"
)

func Example() {
	var file bytes.Buffer
	w, err := recordfile.NewWriter(&file, recordfile.DefaultOptions())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for _, word := range []string{"mill", "race"} {
		if err := w.Append([]byte(word), []byte{byte(len(word))}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}

	size := int64(file.Len())
	r, err := recordfile.NewReader(bytes.NewReader(file.Bytes()), size, 0, size, recordfile.DefaultLimits())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for r.Next() {
		fmt.Printf("%s %d\n", r.Key(), r.Value())
	}
	fmt.Println(r.Err())
	// Output:
	// mill [4]
	// race [4]
	// <nil>
}
