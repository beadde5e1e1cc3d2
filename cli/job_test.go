package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/wire"
)

func TestJobStatusSaysWhereInputWas(t *testing.T) {
	for _, tt := range []struct {
		near map[string]int
		want string
	}{
		{map[string]int{"node": 17, "remote": 1}, "\ninput    of 17 maps on their node, of 0 in their rack, of 1 elsewhere\n"},
		{nil, "\nattempts 3\noutput   dfs:/o\n"},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		printStatus(cmd, wire.JobStatus{Job: "job-1", Attempts: 3, Output: "dfs:/o", Locality: tt.near})
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v is not in\n%s", tt.want, out.String())
		}
	}
}
