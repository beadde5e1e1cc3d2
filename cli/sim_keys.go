package cli

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/sim"
)

// A scenario is a file with known keys and values of the right kind. What they mean is checked later.
type scenario struct {
	file  string
	data  []byte
	body  ast.Node // nil if it is empty
	lines map[string]int
	swept []sweptKey
}

// A sweptKey is a key of the file with a range of values; each value is a scenario of its own.
type sweptKey struct {
	key    string
	at     *ast.MappingValueNode
	values []string
	nodes  []ast.Node // of the values
}

// readScenario reads the keys of a file.
func readScenario(file string, data []byte) (*scenario, error) {
	s := &scenario{file: file, data: data, lines: map[string]int{}}
	var err error
	if s.body, err = parseYAML(file, data); err != nil || s.body == nil {
		return s, err
	}
	c := keyCheck{scenario: s, anchors: map[string]ast.Node{}}
	return s, c.value(s.body, reflect.TypeFor[simFile](), "")
}

// decode returns the values of the keys.
func (s *scenario) decode() (f simFile, err error) {
	f.Contention, f.Devices, f.Monitor = sim.DefaultContention(), sim.DefaultDevices(), simFileMonitor(netmon.DefaultConfig())
	if s.body == nil {
		return f, nil
	}
	err = guardYAML(s.file, func() error {
		if err := yaml.NodeToValue(s.body, &f); err != nil {
			return yamlError(s.file, err)
		}
		return nil
	})
	return f, err
}

func (s *scenario) wrong(n ast.Node, format string, args ...any) error {
	line := 1
	if tok := n.GetToken(); tok != nil && tok.Position != nil {
		line = tok.Position.Line
	}
	return fmt.Errorf("%s:%d: %s", s.file, line, fmt.Sprintf(format, args...))
}

// keyCheck checks a file against the type that it is decoded into, so that errors name keys and not types of Go.
type keyCheck struct {
	*scenario
	anchors map[string]ast.Node
}

// value checks the value of a key.
func (c *keyCheck) value(n ast.Node, t reflect.Type, key string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch x := n.(type) {
	case *ast.AnchorNode:
		c.anchors[x.Name.GetToken().Value] = x.Value
		return c.value(x.Value, t, key)
	case *ast.AliasNode:
		of := c.anchors[x.Value.GetToken().Value]
		if of == nil {
			return c.wrong(n, "%s: there is no &%s above", key, x.Value.GetToken().Value)
		}
		return c.value(of, t, key)
	}
	switch {
	case t.Kind() == reflect.Struct:
		return c.keys(n, t, key)
	case t.Kind() == reflect.Slice:
		return c.list(n, t, key)
	case t.Kind() == reflect.Map:
		return c.named(n, t, key)
	}
	return c.scalar(n, t, key)
}

func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch x := n.(type) {
	case *ast.MappingNode:
		return x.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{x}, true
	}
	return nil, false
}

// keys checks the keys of a part of the file.
func (c *keyCheck) keys(n ast.Node, t reflect.Type, under string) error {
	pairs, ok := pairsOf(n)
	if !ok {
		if under == "" {
			return c.wrong(n, "the file has no keys: write nodes: 40 and so on (millrace sim explain lists them)")
		}
		before := lastKey(under) + ":"
		if strings.HasSuffix(under, "]") {
			before = "-"
		}
		return c.wrong(n, "%s is %s: write keys below it, such as %s {%s: ...}", under, shown(n), before, t.Field(0).Tag.Get("yaml"))
	}
	for _, p := range pairs {
		if p.Key.IsMergeKey() {
			if err := c.value(p.Value, t, under); err != nil {
				return err
			}
			continue
		}
		name := p.Key.GetToken().Value
		key := strings.TrimPrefix(under+"."+name, ".")
		of, known := fieldOf(t, name)
		if of == nil {
			return c.wrong(p, "unknown key %q%s (millrace sim explain lists the keys)", key, suggest.Meant(name, known))
		}
		c.lines[key] = p.Key.GetToken().Position.Line
		if err := c.pair(p, of, key); err != nil {
			return err
		}
	}
	return nil
}

// pair checks a key and its value, which may be a range.
func (c *keyCheck) pair(p *ast.MappingValueNode, t reflect.Type, key string) error {
	if _, text := p.Value.(*ast.StringNode); text && slices.Contains(sweptKeys, key) {
		if is, err := c.sweep(p, t, key); is || err != nil {
			return err
		}
	}
	p.Value = onlyNamed(p.Value, t)
	if err := c.value(p.Value, t, key); err != nil {
		return err
	}
	if _, zero := p.Value.(*ast.IntegerNode); zero && kindOf(t) == "time" { // only 0 has no unit
		p.Value = ast.String(token.String("0s", "0s", p.Value.GetToken().Position))
	}
	return nil
}

// sweep parses a range, each value of which must be valid for the key.
func (c *keyCheck) sweep(p *ast.MappingValueNode, t reflect.Type, key string) (is bool, err error) {
	read := sweep
	if kindOf(t) == "time" {
		read = sweepTimes
	}
	tok := p.Value.GetToken()
	values, err := read(tok.Value)
	if err != nil {
		return false, c.wrong(p.Value, "%s: %v", key, err)
	}
	s := sweptKey{key: key, at: p, values: values}
	for _, v := range values {
		n := valueNode(v, tok.Position)
		if err := c.scalar(n, elemOf(t), key); err != nil {
			return false, err
		}
		s.nodes = append(s.nodes, n)
	}
	if values != nil {
		c.swept = append(c.swept, s)
	}
	return values != nil, nil
}

// valueNode returns a number or a time as it would be in a file.
func valueNode(v string, at *token.Position) ast.Node {
	switch {
	case strings.HasSuffix(v, "s"):
		return ast.String(token.String(v, v, at))
	case strings.Contains(v, "."):
		return ast.Float(token.New(v, v, at))
	}
	return ast.Integer(token.New(v, v, at))
}

// fieldOf returns the type of a key, or the known keys.
func fieldOf(t reflect.Type, key string) (reflect.Type, []string) {
	var known []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == key {
			return f.Type, nil
		}
		known = append(known, name)
	}
	return nil, known
}

func (c *keyCheck) list(n ast.Node, t reflect.Type, key string) error {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		return c.wrong(n, "%s is %s: write a list, as %s: [...] or a line with - for each", key, shown(n), lastKey(key))
	}
	if len(s.Values) == 0 {
		return c.wrong(n, "%s is empty: give one at least, or leave the key out", key)
	}
	for i := range s.Values {
		v := onlyNamed(s.Values[i], t.Elem())
		s.Values[i] = v
		at := fmt.Sprintf("%s[%d]", key, i)
		if tok := v.GetToken(); tok != nil {
			c.lines[at] = tok.Position.Line
		}
		if err := c.value(v, t.Elem(), at); err != nil {
			return err
		}
	}
	return nil
}

// onlyNamed expands a policy that is given by its name only: fair means {policy: fair}.
func onlyNamed(n ast.Node, t reflect.Type) ast.Node {
	name, text := n.(*ast.StringNode)
	if !text || t != reflect.TypeFor[simFilePlan]() && t != reflect.TypeFor[*simFilePolicy]() {
		return n
	}
	at := name.GetToken().Position
	return ast.MappingValue(token.New(":", ":", at), ast.String(token.String("policy", "policy", at)), name)
}

// named checks a part whose keys are free.
func (c *keyCheck) named(n ast.Node, t reflect.Type, key string) error {
	pairs, ok := pairsOf(n)
	if !ok {
		return c.wrong(n, "%s is %s: write {NAME: VALUE, ...}", key, shown(n))
	}
	for _, p := range pairs {
		if err := c.value(p.Value, t.Elem(), key+"."+p.Key.GetToken().Value); err != nil {
			return err
		}
	}
	return nil
}

// scalar checks a single value.
func (c *keyCheck) scalar(n ast.Node, t reflect.Type, key string) error {
	text := ""
	if tok := n.GetToken(); tok != nil {
		text = tok.Value
	}
	ok := false
	switch x := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		ok = numeric(x, t, text)
	case *ast.BoolNode:
		ok = t.Kind() == reflect.Bool || t.Kind() == reflect.String
	case *ast.StringNode, *ast.LiteralNode:
		ok = textual(t, text)
	}
	if !ok {
		return c.wrong(n, "%s is %s: write %s", key, shown(n), remedy(t))
	}
	return nil
}

// textual reports whether a text can be the value of a key: a text such as 1e-3 is a number.
func textual(t reflect.Type, text string) bool {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		_, err := time.ParseDuration(text)
		return err == nil
	case t.Kind() == reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		return err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	return t.Kind() == reflect.String
}

// numeric reports whether a number can be the value of a key.
func numeric(n ast.Node, t reflect.Type, text string) bool {
	_, whole := n.(*ast.IntegerNode)
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	switch {
	case t.Kind() == reflect.String:
		return true
	case t == reflect.TypeFor[time.Duration]():
		return err == nil && f == 0
	case t.Kind() == reflect.Float64:
		return whole || err == nil && !math.IsInf(f, 0)
	case t.Kind() == reflect.Bool || !whole:
		return false
	case t.Kind() == reflect.Uint64:
		_, err := strconv.ParseUint(text, 0, 64)
		return err == nil
	}
	_, err = strconv.ParseInt(text, 0, t.Bits())
	return err == nil
}

// remedy returns what to write for a type.
func remedy(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a time with its unit, such as 500ms, 3s or 2h"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number, such as 0.7"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "a whole number, such as 40"
}

// shown returns a value for an error.
func shown(n ast.Node) string {
	switch x := n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a group of keys"
	case *ast.StringNode, *ast.LiteralNode:
		return fmt.Sprintf("%.60q", x.GetToken().Value)
	}
	return fmt.Sprintf("%.60s", n.GetToken().Value)
}

func lastKey(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
