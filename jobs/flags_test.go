package jobs

import (
	"errors"
	"strings"
	"testing"

	"github.com/millrace/millrace/mapreduce"
)

// TestEveryNumberIsNamedByItsFlag: what Validate can say about a field that a flag sets is said about the flag.
func TestEveryNumberIsNamedByItsFlag(t *testing.T) {
	bad := mapreduce.Job{
		Reducers: -1, MaxAttempts: -1, SkipBadRecords: -1, SplitBytes: -1, MaxRecordBytes: -1, Priority: 100, Compression: "rar",
	}
	var text strings.Builder
	text.WriteString(NameFlags("--", bad.Validate()).Error())
	for _, e := range []mapreduce.Expect{{InputBytes: -1}, {ShuffleBytes: 1 << 60}, {MapTime: -1}, {ReduceTime: -1}} { // the first is told
		bad.Scheduling.Expect = e
		text.WriteString(NameFlags("--", bad.Validate()).Error())
	}
	c := NewCommand(wordCount)
	for field, flag := range flagOf {
		if field == "Memory" || field == "Workers" {
			continue // of the engine
		}
		if c.Flags.Lookup(flag) == nil {
			t.Errorf("there is no flag --%s", flag)
		}
		if !strings.Contains(text.String(), "--"+flag+" is ") || strings.Contains(text.String(), field+" ") {
			t.Errorf("%s is not named --%s:\n%s", field, flag, text.String())
		}
	}
	if !strings.Contains(bad.Validate().Error(), "MaxAttempts is -1") {
		t.Errorf("in Go the field has its own name: %v", bad.Validate())
	}
	if err := NameFlags("--", nil); err != nil {
		t.Errorf("nothing wrong: %v", err)
	}
	plain := errors.New("plain")
	if err := NameFlags("-", plain); err != plain { //nolint:errorlint // the same, with nothing around it
		t.Errorf("another error: %v", err)
	}
}

// TestParseResult: a checksum is a text, whatever it looks like.
func TestParseResult(t *testing.T) {
	got := teraValidate.ParseResult("rows\t12\nchecksum\t1234\nduplicate_keys\t0\n")
	if got["rows"] != int64(12) || got["checksum"] != "1234" || got["valid"] != true {
		t.Errorf("%#v", got)
	}
	if got := pi.ParseResult("pi\t3.125\n"); len(got) != 1 || got["pi"] != 3.125 {
		t.Errorf("%#v", got)
	}
	if got := teraValidate.ParseResult(""); len(got) != 0 {
		t.Errorf("of nothing: %#v", got)
	}
}
