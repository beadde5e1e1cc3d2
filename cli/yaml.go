package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// YAML files here are small and flat. The library recurses for every level of nesting, so that a deep file takes its
// stack or time in the square of its length; and it expands every alias.
const (
	maxFile     = 1 << 20  // bytes
	maxNesting  = 64       // brackets that are open at once, and marks that begin a value in one line
	maxRepeated = 16 << 20 // bytes, if every alias stood for the whole file
)

// decodeYAML decodes a file into a value; the file may have no other keys.
func decodeYAML(name string, data []byte, into any) error {
	body, err := parseYAML(name, data)
	if err != nil || body == nil {
		return err
	}
	return guardYAML(name, func() error {
		if err := yaml.NodeToValue(body, into, yaml.Strict()); err != nil {
			return fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, true))
		}
		return nil
	})
}

// parseYAML returns the one document of a file, or nil if it is empty.
func parseYAML(name string, data []byte) (body ast.Node, err error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many: a file has %d at most", name, len(data), maxFile)
	}
	err = guardYAML(name, func() error {
		tokens := lexer.Tokenize(string(data))
		if err := checkNesting(name, tokens, len(data)); err != nil {
			return err
		}
		tree, err := parser.Parse(tokens, 0)
		if err != nil {
			return yamlError(name, err)
		}
		for _, doc := range tree.Docs {
			if doc.Body == nil || doc.Body.Type() == ast.CommentType {
				continue
			}
			if body != nil {
				return fmt.Errorf("%s:%d: the file has two documents: write one, without ---", name, doc.Body.GetToken().Position.Line)
			}
			body = doc.Body
		}
		return nil
	})
	if err == nil && body != nil {
		ast.Walk(nestedAlias{name: name, err: &err}, body)
	}
	return body, err
}

// guardYAML calls the library, which panics on some files as if its caller had made a mistake, such as on a value with
// an unknown tag. A file is the user's, and the server of the playground reads those of strangers.
func guardYAML(name string, read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: a value cannot be read (%v): write plain values, without tags such as !x", name, p)
		}
	}()
	return read()
}

func yamlError(name string, err error) error {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", name, e.GetToken().Position.Line, e.GetMessage())
	}
	return fmt.Errorf("%s: %w", name, err)
}

// checkNesting refuses files that would take the library long.
func checkNesting(name string, tokens token.Tokens, size int) error {
	open, marks, line, aliases := 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, marks = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open = max(0, open-1)
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			marks++
		case token.AliasType:
			aliases++
		}
		switch {
		case open > maxNesting || marks > maxNesting:
			return fmt.Errorf("%s:%d: the file is nested too deep, more than %d levels", name, line, maxNesting)
		case aliases*size > maxRepeated:
			return fmt.Errorf("%s:%d: %d aliases (*name) in %d bytes are too many: write the values out", name, line, aliases, size)
		}
	}
	return nil
}

// nestedAlias finds an alias in an anchored value: a few lines of these can stand for more values than a machine can
// hold.
type nestedAlias struct {
	name string
	in   string // the anchor
	err  *error
}

func (v nestedAlias) Visit(n ast.Node) ast.Visitor {
	switch x := n.(type) {
	case *ast.AnchorNode:
		v.in = x.Name.GetToken().Value
	case *ast.AliasNode:
		if v.in != "" && *v.err == nil {
			*v.err = fmt.Errorf("%s:%d: an alias (*%s) stands in the value of &%s: write the value out", v.name, x.GetToken().Position.Line, x.Value.GetToken().Value, v.in)
		}
	}
	return v
}

// lineOf returns the line of a key or, if it is missing, of the value that contains it; 1 if neither is found.
func lineOf(data []byte, key string) int {
	line := 0
	_ = guardYAML("", func() error {
		p, err := yaml.PathString(key)
		if err != nil {
			return err
		}
		node, err := p.ReadNode(bytes.NewReader(data))
		if err == nil && node != nil && node.GetToken() != nil {
			line = node.GetToken().Position.Line
		}
		return err
	})
	if in := strings.LastIndexByte(key, '.'); line == 0 && in > 0 {
		return lineOf(data, key[:in])
	}
	return max(line, 1)
}
