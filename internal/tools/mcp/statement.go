package mcp

import (
	"encoding/json"
	"strings"
)

// statement is a boolean of a server. Some write it as a text or as a number.
type statement int

// The statements, in an order: those above no are not denied.
const (
	unsaid statement = iota // absent, or null
	no
	unclear // neither yes nor no
	yes
)

// statementOf reads a value of JSON.
func statementOf(v any) statement {
	switch v := v.(type) {
	case nil:
		return unsaid
	case bool:
		if v {
			return yes
		}
		return no
	case json.Number:
		return wordOf(v.String())
	case float64:
		if v == 0 {
			return no
		}
		return yes
	case string:
		return wordOf(v)
	}
	return unclear
}

func wordOf(text string) statement {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "null", "none":
		return unsaid
	case "false", "no", "0":
		return no
	case "true", "yes", "1":
		return yes
	}
	return unclear
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *statement) UnmarshalJSON(raw []byte) error {
	var v any
	err := json.Unmarshal(raw, &v)
	*s = statementOf(v)
	return err
}
