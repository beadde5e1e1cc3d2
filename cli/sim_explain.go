package cli

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/suggest"
)

func newSimExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [KEY]", Short: "List the keys of a scenario file, or explain one",
		Example: "  millrace sim explain\n  millrace sim explain jobs",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys := scenarioKeys(reflect.TypeFor[simFile](), "")
			if len(args) == 0 {
				return failed(printKeys(cmd.OutOrStdout(), keys))
			}
			var mine []scenarioKey
			var names []string
			for _, k := range keys {
				names = append(names, k.name)
				if k.name == args[0] || strings.HasPrefix(k.name, args[0]+".") {
					mine = append(mine, k)
				}
			}
			if mine == nil {
				return suggest.Unknown("key", args[0], names)
			}
			return failed(printKeys(cmd.OutOrStdout(), mine))
		},
	}
}

// A scenarioKey is a key of a scenario file: policies.params is params of an entry of policies.
type scenarioKey struct{ name, kind, help string }

// scenarioKeys reads them off the type that files are decoded into.
func scenarioKeys(t reflect.Type, under string) (out []scenarioKey) {
	for f := range t.Fields() {
		name := under + f.Tag.Get("yaml")
		of, kind := f.Type, ""
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			if of.Kind() == reflect.Slice {
				kind = "list of "
			}
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.Struct:
			kind += "keys"
		case reflect.Map:
			kind += "name: value"
		case reflect.String:
			kind += "text"
		case reflect.Bool:
			kind += "true or false"
		default:
			kind += "number"
		}
		out = append(out, scenarioKey{name, kind, f.Tag.Get("help")})
		if of.Kind() == reflect.Struct {
			out = append(out, scenarioKeys(of, name+".")...)
		}
	}
	return out
}

func printKeys(w io.Writer, keys []scenarioKey) error {
	for _, k := range keys {
		if _, err := fmt.Fprintf(w, "%-28s %-14s %s\n", k.name, k.kind, k.help); err != nil {
			return err
		}
	}
	return nil
}
