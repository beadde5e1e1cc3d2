package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  millrace version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versionOf()
			if asJSON {
				return failed(json.NewEncoder(cmd.OutOrStdout()).Encode(v))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "millrace %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			return nil
		},
	}
	return withJSON(cmd, &asJSON, "a JSON object")
}

type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Version == "devel" {
			v.Version = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
