package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
)

// CodeParam is the parameter of a script that is its text, which may have 64 KiB. CodeSum takes its place where texts are kept once: its SHA-256.
const (
	CodeParam = "code"
	CodeSum   = "code_sum"
)

// SumOf is what refers to a text.
func SumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Refer returns p with a reference in the place of a script's text, and that text. Without one it returns p.
func (p *Policies) Refer() (*Policies, string) {
	if p == nil || p.Policy.Params[CodeParam] == "" {
		return p, ""
	}
	text := p.Policy.Params[CodeParam]
	return p.swap(CodeParam, CodeSum, SumOf(text)), text
}

// Restore undoes Refer. of returns the text of a sum, or nothing if it is gone: then the reference stays.
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

// Refers is the sum of the text that p refers to, or nothing.
func (p *Policies) Refers() string {
	if p == nil {
		return ""
	}
	return p.Policy.Params[CodeSum]
}

// swap returns a copy with one parameter in the place of another. What p shares with others stays.
func (p *Policies) swap(old, name, value string) *Policies {
	out := *p
	out.Policy.Params = maps.Clone(p.Policy.Params)
	delete(out.Policy.Params, old)
	out.Policy.Params[name] = value
	return &out
}
