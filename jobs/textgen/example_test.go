package textgen_test

import (
	"fmt"
	"os"

	"github.com/millrace/millrace/jobs/textgen"
)

func ExampleText() {
	text, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	block := make([]byte, 130)
	text.Fill(block, 0)
	fmt.Print(string(block))
	// Output:
	// ufob sorafe nes inipoca vimoso nes toso emokehot toso segetavu dogid hidano
	// nes pabu deb ceweged edeser arakibapef arakibapef nes
}

func ExampleRecords() {
	records, err := textgen.NewRecords(textgen.RecordsConfig{Keys: 100, ValueBytes: 10})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	block := make([]byte, 44)
	records.Fill(block, 0)
	fmt.Printf("%q\n", block)
	// Output:
	// "k00000060\tbnbfndcnkg\nk00000034\tokopamgfnnji\n"
}
