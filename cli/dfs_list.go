package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
)

// lsOptions are the flags of ls.
type lsOptions struct {
	recursive, itself, human, byTime, bySize, reverse, checksum, asJSON bool
}

func (d *dfsCommand) newLs() *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:     "ls [PATH]...",
		Short:   "List directories",
		Long:    `List directories: kind and mode, replication, owner, group, size, time of change, name.`,
		Example: "  millrace dfs ls -R -h dfs:/in",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return d.with(cmd, func(s *session) error { return o.run(cmd, s, args) })
		},
	}
	f := cmd.Flags()
	f.Bool("help", false, "help for ls")
	f.BoolVarP(&o.recursive, "recursive", "R", false, "list what is below directories, to the bottom")
	f.BoolVarP(&o.itself, "directory", "d", false, "list directories themselves, not what is in them")
	f.BoolVarP(&o.human, "human", "h", false, "sizes as 1.50 GiB")
	f.BoolVarP(&o.byTime, "time", "t", false, "newest first")
	f.BoolVarP(&o.bySize, "size", "S", false, "largest first")
	f.BoolVarP(&o.reverse, "reverse", "r", false, "in reverse order")
	f.BoolVar(&o.checksum, "checksum", false, "also the CRC32C of the content, of files that you may read; denied for others")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON array")
	return cmd
}

func (o *lsOptions) run(cmd *cobra.Command, s *session, args []string) error {
	for i, a := range args {
		if a == "." {
			args[i] = s.home
		}
	}
	tops, err := s.globAll(args)
	if err != nil {
		return err
	}
	all := []wire.FileInfo{}
	for _, t := range tops {
		if all, err = o.collect(s, all, t, true); err != nil {
			return err
		}
	}
	if o.asJSON {
		return printJSON(cmd, all)
	}
	return o.print(cmd.OutOrStdout(), all, s.crcText)
}

// collect appends a file or, for a directory, its entries.
func (o *lsOptions) collect(s *session, out []wire.FileInfo, i wire.FileInfo, top bool) ([]wire.FileInfo, error) {
	if !i.Dir || o.itself {
		return append(out, i), nil
	}
	if !top {
		out = append(out, i)
	}
	list, err := s.ListAll(s.ctx, i.Path)
	if err != nil {
		return nil, err
	}
	o.sort(list)
	for _, e := range list {
		if !o.recursive || !e.Dir {
			out = append(out, e)
		} else if out, err = o.collect(s, out, e, false); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sort sorts a directory, which is sorted by name so far.
func (o *lsOptions) sort(list []wire.FileInfo) {
	slices.SortStableFunc(list, func(a, b wire.FileInfo) int {
		switch {
		case o.byTime:
			return cmp.Compare(b.ModTime, a.ModTime)
		case o.bySize:
			return cmp.Compare(b.Len, a.Len)
		}
		return 0
	})
	if o.reverse {
		slices.Reverse(list)
	}
}

func (o *lsOptions) print(w io.Writer, all []wire.FileInfo, crcText func(wire.FileInfo) string) error {
	users, groups, sizes := 0, 0, 0
	for _, i := range all {
		users, groups, sizes = max(users, len(userText(i))), max(groups, len(groupText(i))), max(sizes, len(sizeText(i.Len, o.human)))
	}
	for _, i := range all {
		copies := fmt.Sprint(i.Replication)
		if i.Dir {
			copies = "-"
		}
		sum := ""
		if o.checksum {
			sum = fmt.Sprintf("%8s ", crcText(i))
		}
		_, err := fmt.Fprintf(w, "%s %3s %-*s %-*s %*s %s %s%s\n", wire.ModeText(i.Dir, i.Mode), copies, users, userText(i), groups, groupText(i),
			sizes, sizeText(i.Len, o.human), when(i.ModTime), sum, human.Printable(i.Path))
		if err != nil {
			return err
		}
	}
	return nil
}

func userText(i wire.FileInfo) string { return human.Printable(cmp.Or(i.User, "-")) }

func groupText(i wire.FileInfo) string { return human.Printable(cmp.Or(i.Group, "-")) }

func when(millis int64) string { return time.UnixMilli(millis).Format("2006-01-02 15:04") }

// crcText returns a checksum as it is printed, or why there is none.
func (s *session) crcText(i wire.FileInfo) string {
	switch {
	case i.HasCRC:
		return fmt.Sprintf("%08x", i.CRC)
	case i.Dir || i.Open:
		return "-"
	}
	if _, err := s.Locate(s.ctx, i.Path, 0, 0); wire.KindOf(err) == wire.Denied {
		return "denied"
	}
	return "-"
}

func sizeText(n int64, short bool) string {
	if short {
		return human.Bytes(n)
	}
	return fmt.Sprint(n)
}

func (d *dfsCommand) newStat() *cobra.Command {
	var blocks, asJSON bool
	cmd := &cobra.Command{
		Use: "stat PATH...", Short: "Describe files and directories, and where their blocks are",
		Example: "  millrace dfs stat --blocks dfs:/in/words.txt",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				list, err := s.globAll(args)
				if err != nil {
					return err
				}
				out := make([]statOutput, len(list))
				for k, i := range list {
					out[k].FileInfo = i
					if blocks && !i.Dir {
						if out[k].Located, err = s.allBlocks(i); err != nil {
							return err
						}
					}
				}
				if asJSON {
					return printJSON(cmd, out)
				}
				for _, o := range out {
					o.print(cmd.OutOrStdout(), s.crcText)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&blocks, "blocks", false, "also where every block is")
	return withJSON(cmd, &asJSON, "a JSON array")
}

// statOutput is one file as stat prints it.
type statOutput struct {
	wire.FileInfo
	Located []wire.LocatedBlock `json:"located,omitempty"`
}

// allBlocks asks where all blocks of a file are, page by page.
func (s *session) allBlocks(i wire.FileInfo) (all []wire.LocatedBlock, err error) {
	for off := int64(0); off < i.Len; {
		page, err := s.Locate(s.ctx, i.Path, off, -1)
		if err != nil || len(page.Blocks) == 0 {
			return all, err
		}
		all = append(all, page.Blocks...)
		last := page.Blocks[len(page.Blocks)-1]
		off = last.Off + last.Len
	}
	return all, nil
}

func (o statOutput) modeText() string {
	return fmt.Sprintf("%04o (%s)", o.Mode, wire.ModeText(o.Dir, o.Mode))
}

func (o statOutput) print(w io.Writer, crcText func(wire.FileInfo) string) {
	fmt.Fprintf(w, "%s\n", human.Printable(o.Path))
	if o.Dir {
		fmt.Fprintf(w, "  directory of %s, group %s, mode %s, changed %s\n", userText(o.FileInfo), groupText(o.FileInfo), o.modeText(), when(o.ModTime))
		return
	}
	state := ""
	if o.Open {
		state = ", being written"
	}
	fmt.Fprintf(w, "  file of %s, group %s, mode %s, changed %s%s\n", userText(o.FileInfo), groupText(o.FileInfo), o.modeText(), when(o.ModTime), state)
	fmt.Fprintf(w, "  %s in %s of %s, %s, CRC32C %s\n", human.Many(o.Len, "byte"), human.Many(int64(o.Blocks), "block"), human.Bytes(o.BlockSize),
		human.Many(int64(o.Replication), "copy"), crcText(o.FileInfo))
	for _, b := range o.Located {
		var places []string
		for _, p := range b.Places {
			places = append(places, p.Rack+"/"+string(p.Node))
		}
		fmt.Fprintf(w, "  %12d  %s generation %d, %d bytes: %s\n", b.Off, b.ID, b.Gen, b.Len, cmp.Or(strings.Join(places, " "), "nowhere"))
	}
}

func (d *dfsCommand) newDu() *cobra.Command {
	var short, summary, asJSON bool
	cmd := &cobra.Command{
		Use: "du [PATH]...", Short: "Say how much is below directories: bytes, bytes with all copies, quotas",
		Example: "  millrace dfs du -s -h dfs:/in",
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.with(cmd, func(s *session) error {
				if len(args) == 0 {
					args = []string{"/"}
				}
				rows, err := s.usages(args, summary)
				return answer(cmd, asJSON, rows, err, func(w io.Writer, rows []duRow) {
					t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
					for _, r := range rows {
						fmt.Fprintf(t, "%s\t%s\t%s%s\n", sizeText(r.Len, short), sizeText(r.Bytes, short), human.Printable(r.Path), r.limits(short))
					}
					t.Flush()
				})
			})
		},
	}
	f := cmd.Flags()
	f.Bool("help", false, "help for du")
	f.BoolVarP(&short, "human", "h", false, "sizes as 1.50 GiB")
	f.BoolVarP(&summary, "summary", "s", false, "one line for each path given")
	f.BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// duRow is what one path holds.
type duRow struct {
	Path string `json:"path"`
	wire.Usage
}

// limits describes quotas, if there are any.
func (r duRow) limits(short bool) (out string) {
	if r.QuotaBytes >= 0 {
		out += fmt.Sprintf("  (quota %s)", sizeText(r.QuotaBytes, short))
	}
	if r.QuotaFiles >= 0 {
		out += fmt.Sprintf("  (%d of %d names)", r.Files+r.Dirs, r.QuotaFiles)
	}
	return out
}

// usages returns the usage of paths, or of their entries.
func (s *session) usages(args []string, summary bool) ([]duRow, error) {
	tops, err := s.globAll(args)
	if err != nil {
		return nil, err
	}
	rows := []duRow{}
	for _, t := range tops {
		list := []wire.FileInfo{t}
		if t.Dir && !summary {
			if list, err = s.ListAll(s.ctx, t.Path); err != nil {
				return nil, err
			}
		}
		for _, i := range list {
			u, err := s.Usage(s.ctx, i.Path)
			if err != nil {
				return nil, err
			}
			rows = append(rows, duRow{i.Path, u})
		}
	}
	return rows, nil
}
