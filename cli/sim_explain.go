package cli

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

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

// A scenarioKey is a key of a scenario file: policies.params is the key params of an entry of policies.
type scenarioKey struct{ name, kind, help string }

// scenarioKeys lists the keys of the type that files are decoded into.
func scenarioKeys(t reflect.Type, under string) (out []scenarioKey) {
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		name := under + key
		of := elemOf(f.Type)
		kind := kindOf(f.Type)
		if slices.Contains(sweptKeys, name) {
			kind += " or range"
		}
		out = append(out, scenarioKey{name, kind, f.Tag.Get("help")})
		if of.Kind() == reflect.Struct {
			out = append(out, scenarioKeys(of, name+".")...)
		}
	}
	return out
}

// elemOf returns the element type of a slice or pointer.
func elemOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// kindOf describes the values of a type.
func kindOf(t reflect.Type) string {
	kind := ""
	if t.Kind() == reflect.Slice {
		kind = "list of "
	}
	switch of := elemOf(t); {
	case of == reflect.TypeFor[time.Duration]():
		return kind + "time"
	case of.Kind() == reflect.Struct:
		return kind + "keys"
	case of.Kind() == reflect.Map:
		return kind + "name: value"
	case of.Kind() == reflect.String:
		return kind + "text"
	case of.Kind() == reflect.Bool:
		return kind + "true or false"
	}
	return kind + "number"
}

func printKeys(w io.Writer, keys []scenarioKey) error {
	for _, k := range keys {
		if _, err := fmt.Fprintf(w, "%-28s %-16s %s\n", k.name, k.kind, k.help); err != nil {
			return err
		}
	}
	return nil
}
