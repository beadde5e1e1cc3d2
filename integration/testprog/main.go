// Command testprog is a word count whose mapper misbehaves on command: the programs that a cluster must survive.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

var mode = flag.String("mode", "", "panic, hang, hog, flood, exit or fork")

func main() {
	millrace.Main(mapreduce.Job{
		Name: "misbehave",
		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
			if bytes.Contains(line, []byte("POISON")) {
				misbehave()
			}
			for word := range bytes.FieldsSeq(line) {
				emit(word, 1)
			}
		}),
		Fold: mapreduce.Sum,
	})
}

func misbehave() {
	switch *mode {
	case "panic":
		panic("a poisoned record")
	case "hang":
		time.Sleep(time.Hour)
	case "hog":
		var hoard [][]byte
		worker := os.NewFile(3, "worker")
		for range 16 { // 1 GiB
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
			fmt.Fprintln(worker, "{}") // a sign of life: on a busy machine this takes long
			time.Sleep(20 * time.Millisecond)
		}
		fmt.Fprintln(os.Stderr, len(hoard))
	case "flood":
		for range 200_000 {
			fmt.Fprintln(os.Stderr, "a line of no interest whatsoever, again and again and again and again and again")
		}
	case "exit":
		os.Exit(3)
	case "fork":
		if err := exec.Command("sleep", "987654").Start(); err != nil {
			panic(err)
		}
	}
}
