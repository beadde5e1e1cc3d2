package cli

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

// quotaOptions are the flags of dfs quota.
type quotaOptions struct {
	of, names, bytes string
	asJSON           bool
}

func (d *dfsCommand) newQuota() *cobra.Command {
	var o quotaOptions
	cmd := &cobra.Command{
		Use: "quota [PATH]", Short: "Show or limit what is below a directory, or what a user has",
		Long: `Without --names and --bytes, show what is below a directory, or what a user has, and its limits. With one of them,
change that limit; the other stays. none takes a limit away.`,
		Example: `  millrace dfs quota dfs:/scratch
  millrace dfs quota --bytes 10GiB --names 100000 dfs:/scratch
  millrace dfs quota --of ann --bytes none`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (o.of == "") == (len(args) == 0) {
				return fmt.Errorf("quota: give a directory, or --of USER")
			}
			q, err := o.request(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return d.with(cmd, func(s *session) (err error) {
				if o.of == "" {
					if q.Path, err = s.path(args[0]); err != nil {
						return err
					}
				}
				return o.run(cmd, s, q)
			})
		},
	}
	cmd.Flags().StringVar(&o.of, "of", "", "the user to look at or to limit")
	cmd.Flags().StringVar(&o.bytes, "bytes", "", "bytes, all copies counted, or none for no limit")
	cmd.Flags().StringVar(&o.names, "names", "", "files and directories, or none for no limit")
	return withJSON(cmd, &o.asJSON, "a JSON object with what there is and the limits")
}

// request returns what the flags ask for: limits that are not given stay.
func (o *quotaOptions) request(given func(flag string) bool) (wire.QuotaRequest, error) {
	q := wire.QuotaRequest{Of: o.of, Files: -1, Bytes: -1, KeepFiles: !given("names"), KeepBytes: !given("bytes")}
	if !q.KeepFiles && o.names != "none" && o.names != "-1" { // older versions wrote -1 for none
		n, err := strconv.ParseInt(o.names, 10, 64)
		if err != nil || n < 0 {
			return q, fmt.Errorf("--names is %q, must be a number or none", o.names)
		}
		q.Files = n
	}
	if !q.KeepBytes && o.bytes != "none" {
		var n jobs.ByteSize
		if err := n.Set(o.bytes); err != nil {
			return q, fmt.Errorf("--bytes: %w (or none)", err)
		}
		q.Bytes = int64(n)
	}
	return q, nil
}

// run changes the limits. It shows them if none is to change, or if JSON is wanted.
func (o *quotaOptions) run(cmd *cobra.Command, s *session, q wire.QuotaRequest) error {
	change := !q.KeepFiles || !q.KeepBytes
	if change {
		if err := s.SetQuota(s.ctx, q); err != nil || !o.asJSON {
			return err
		}
	}
	u, err := s.UsageOf(s.ctx, q)
	return answer(cmd, o.asJSON, u, err, printQuota)
}

func printQuota(w io.Writer, u wire.Usage) {
	limit := func(most int64, text string) string {
		if most < 0 {
			return "no limit"
		}
		return "at most " + text
	}
	fmt.Fprintf(w, "names  %d, %s\nbytes  %s with all copies, %s\n", u.Files+u.Dirs, limit(u.QuotaFiles, strconv.FormatInt(u.QuotaFiles, 10)),
		human.Bytes(u.Bytes), limit(u.QuotaBytes, human.Bytes(u.QuotaBytes)))
}
