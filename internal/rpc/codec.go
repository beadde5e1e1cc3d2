package rpc

import (
	"encoding"
	"encoding/json"
	"errors"
)

// A form says how a frame's payload is encoded: JSON, or the message's own binary form if it has one. A caller says
// whether it can read a binary answer. Plain HTTP is always JSON.
type form uint8

const (
	binaryBody  form = 1 << iota // the payload is binary
	binaryReply                  // the answer to this call may be
	knownForms  = binaryBody | binaryReply
)

// encode encodes the message that v points to, in binary form if it has one and that is allowed.
func encode(v any, binary bool) ([]byte, form, error) {
	if m, ok := v.(encoding.BinaryAppender); ok && binary {
		body, err := m.AppendBinary(make([]byte, 0, 128))
		return body, binaryBody, err
	}
	body, err := json.Marshal(v)
	return body, 0, err
}

// decode decodes a message into what v points to.
func decode(body []byte, f form, v any) error {
	if f&binaryBody == 0 {
		return json.Unmarshal(body, v)
	}
	m, ok := v.(encoding.BinaryUnmarshaler)
	if !ok {
		return errors.New("it has no binary form here")
	}
	return m.UnmarshalBinary(body)
}

// answers returns the form in which v can read an answer.
func answers(v any) form {
	if _, ok := v.(encoding.BinaryUnmarshaler); ok {
		return binaryReply
	}
	return 0
}
