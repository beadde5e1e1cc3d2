package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/wire"
)

// rightsCommand makes chmod, chown and chgrp: the first argument says what to change, the others where.
func (d *dfsCommand) rightsCommand(use, short, example string, parse func(arg string) (func(i wire.FileInfo) wire.SetRightsRequest, error)) *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := parse(args[0])
			if err != nil {
				return err
			}
			return d.with(cmd, func(s *session) error {
				return each(args[1:], func(a string) error {
					found, err := s.glob(a)
					for _, i := range found {
						if err == nil {
							err = s.setRights(i, change, recursive)
						}
					}
					return err
				})
			})
		},
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "R", false, "also all that is below directories")
	return cmd
}

// setRights changes a file or directory. With recursive it first changes what is below it, because the change may close
// a directory.
func (s *session) setRights(i wire.FileInfo, change func(wire.FileInfo) wire.SetRightsRequest, recursive bool) error {
	if i.Dir && recursive {
		list, err := s.ListAll(s.ctx, i.Path)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := s.setRights(e, change, true); err != nil {
				return err
			}
		}
	}
	r := change(i)
	r.Path = i.Path
	return s.SetRights(s.ctx, r)
}

func (d *dfsCommand) newChmod() *cobra.Command {
	return d.rightsCommand("chmod MODE PATH...", "Change who may read, write and pass through files and directories",
		"  millrace dfs chmod 640 dfs:/user/ann/private\n  millrace dfs chmod -R g+w,o= dfs:/project",
		func(arg string) (func(wire.FileInfo) wire.SetRightsRequest, error) {
			if _, err := changeMode(arg, 0, false); err != nil {
				return nil, err
			}
			return func(i wire.FileInfo) wire.SetRightsRequest {
				m, _ := changeMode(arg, i.Mode, i.Dir) // checked above
				return wire.SetRightsRequest{Mode: int(m)}
			}, nil
		})
}

func (d *dfsCommand) newChown() *cobra.Command {
	return d.rightsCommand("chown USER[:GROUP] PATH...", "Give files and directories another owner; for superusers",
		"  millrace dfs chown -R ann:staff dfs:/user/ann",
		func(arg string) (func(wire.FileInfo) wire.SetRightsRequest, error) {
			owner, group, _ := strings.Cut(arg, ":")
			if owner == "" && group == "" {
				return nil, fmt.Errorf("chown %q: give USER, USER:GROUP or :GROUP", arg)
			}
			return func(wire.FileInfo) wire.SetRightsRequest {
				return wire.SetRightsRequest{Owner: owner, Group: group, Mode: -1}
			}, nil
		})
}

func (d *dfsCommand) newChgrp() *cobra.Command {
	return d.rightsCommand("chgrp GROUP PATH...", "Give files and directories another group, one of your own",
		"  millrace dfs chgrp staff dfs:/project",
		func(arg string) (func(wire.FileInfo) wire.SetRightsRequest, error) {
			if arg == "" {
				return nil, fmt.Errorf("chgrp: the group is empty")
			}
			return func(wire.FileInfo) wire.SetRightsRequest { return wire.SetRightsRequest{Group: arg, Mode: -1} }, nil
		})
}

// changeMode returns the mode that chmod's argument makes of mode: an octal number, or changes such as u+rw,g-w,o=.
func changeMode(arg string, mode uint16, dir bool) (uint16, error) {
	if n, err := strconv.ParseUint(arg, 8, 16); err == nil && n <= 0o1777 {
		return uint16(n), nil
	}
	for change := range strings.SplitSeq(arg, ",") {
		at := strings.IndexAny(change, "+-=")
		if at < 0 {
			return 0, badMode(arg)
		}
		who, bits, ok := modeBits(change[:at], change[at+1:], mode, dir)
		if !ok {
			return 0, badMode(arg)
		}
		switch change[at] {
		case '+':
			mode |= bits
		case '-':
			mode &^= bits
		case '=':
			mode = mode&^who | bits
		}
	}
	return mode, nil
}

func badMode(arg string) error {
	return fmt.Errorf("mode %q: give an octal number up to 1777, or changes as u+rw,g-w,o= (u g o a; r w x X t)", arg)
}

// modeBits returns the bits that a change is about: all that it names, and those that it sets or clears.
func modeBits(who, what string, mode uint16, dir bool) (all, bits uint16, ok bool) {
	if who == "" {
		who = "a"
	}
	var digits uint16
	for _, c := range who {
		d, known := map[rune]uint16{'u': 0o100, 'g': 0o010, 'o': 0o001, 'a': 0o111}[c]
		if !known {
			return 0, 0, false
		}
		digits |= d
	}
	for _, c := range what {
		switch {
		case c == 'r':
			bits |= digits << 2
		case c == 'w':
			bits |= digits << 1
		case c == 'x', c == 'X' && (dir || mode&0o111 != 0):
			bits |= digits
		case c == 't':
			bits |= 0o1000
		case c != 'X':
			return 0, 0, false
		}
	}
	return digits * 7, bits, true
}
