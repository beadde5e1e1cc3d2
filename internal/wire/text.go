package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
)

// CodeParam is the parameter of a script that holds its text, up to 64 KiB. Where texts are kept only once, CodeSum
// replaces it: its SHA-256.
const (
	CodeParam = "code"
	CodeSum   = "code_sum"
)

// SumOf returns the reference to a text.
func SumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Refer returns p with a script's text replaced by a reference, and that text. Without a text it returns p.
func (p *Policies) Refer() (*Policies, string) {
	if p == nil || p.Policy.Params[CodeParam] == "" {
		return p, ""
	}
	text := p.Policy.Params[CodeParam]
	return p.swap(CodeParam, CodeSum, SumOf(text)), text
}

// Restore is the inverse of Refer. of returns the text of a sum, or nothing: then the reference stays.
func (p *Policies) Restore(of func(sum string) string) *Policies {
	sum := p.Refers()
	if sum == "" {
		return p
	}
	text := of(sum)
	if text == "" {
		return p
	}
	return p.swap(CodeSum, CodeParam, text)
}

// Refers returns the sum of the text to which p refers, or nothing.
func (p *Policies) Refers() string {
	if p == nil {
		return ""
	}
	return p.Policy.Params[CodeSum]
}

// swap returns a copy with one parameter replaced by another. It does not change what p shares with others.
func (p *Policies) swap(old, name, value string) *Policies {
	out := *p
	out.Policy.Params = maps.Clone(p.Policy.Params)
	delete(out.Policy.Params, old)
	out.Policy.Params[name] = value
	return &out
}
