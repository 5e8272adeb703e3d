package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"piloto/internal/tools/tool"
)

// Since 2026-07-28 a tool may ask that some of its arguments are repeated as headers (x-mcp-header), so that
// proxies can read them.

// parameter is an argument that is repeated: its path in the arguments, and its header.
type parameter struct {
	path   []string
	header string
}

var (
	headerName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$")
	})

	errHeaderTwice = errors.New("two of its arguments go into one header")
	errHeaderName  = errors.New("an argument goes into a header that cannot be one")
	errHeaderType  = errors.New("an argument that goes into a header is no text, integer or boolean")
)

// headerParameters returns the arguments that a schema wants repeated. An invalid wish makes the tool unusable.
func headerParameters(schema json.RawMessage) ([]parameter, error) {
	if !strings.Contains(string(schema), "x-mcp-header") && !strings.Contains(string(schema), `\u`) {
		return nil, nil
	}
	var s annotatedSchema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, errHeaderName
	}
	var found []parameter
	seen := map[string]bool{}
	if err := s.collect(nil, seen, &found); err != nil {
		return nil, err
	}
	return found, nil
}

type annotatedSchema struct {
	Type       json.RawMessage            `json:"type"`
	Header     json.RawMessage            `json:"x-mcp-header"`
	Properties map[string]annotatedSchema `json:"properties"`
}

// UnmarshalJSON implements json.Unmarshaler: a schema may also be true or false.
func (s *annotatedSchema) UnmarshalJSON(raw []byte) error {
	type bare annotatedSchema
	var b bare
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &b); err != nil {
			return err
		}
	}
	*s = annotatedSchema(b)
	return nil
}

func (s annotatedSchema) collect(at []string, seen map[string]bool, found *[]parameter) error {
	for name, p := range s.Properties {
		path := append(append([]string{}, at...), name)
		if p.Header != nil {
			var header string
			if err := json.Unmarshal(p.Header, &header); err != nil || !headerName().MatchString(header) {
				return errHeaderName
			}
			switch string(p.Type) {
			case `"string"`, `"integer"`, `"boolean"`:
			default:
				return errHeaderType
			}
			if seen[strings.ToLower(header)] {
				return errHeaderTwice
			}
			seen[strings.ToLower(header)] = true
			*found = append(*found, parameter{path, header})
		}
		if err := p.collect(path, seen, found); err != nil {
			return err
		}
	}
	return nil
}

const (
	maxHeaderValue = 4 << 10
	maxInteger     = 1<<53 - 1
)

// headerValues returns the headers of one call. It returns tool.ErrRequest when an argument does not fit into a
// header.
func headerValues(parameters []parameter, arguments map[string]json.RawMessage) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range parameters {
		raw, ok := lookup(arguments, p.path)
		if !ok || string(raw) == "null" {
			continue
		}
		text, err := headerText(raw)
		if err != nil || len(text) > maxHeaderValue {
			return nil, tool.ErrRequest.With("reason", "header").With("argument", strings.Join(p.path, "."))
		}
		values[p.header] = text
	}
	return values, nil
}

func lookup(object map[string]json.RawMessage, path []string) (json.RawMessage, bool) {
	raw, ok := object[path[0]]
	if !ok || len(path) == 1 {
		return raw, ok
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(raw, &inner); err != nil {
		return nil, false
	}
	return lookup(inner, path[1:])
}

// headerText writes a value as SEP-2243 defines: text that a header cannot hold is written in base64, inside a
// frame.
func headerText(raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > maxInteger {
			return "", fmt.Errorf("no integer")
		}
		return strconv.FormatInt(int64(v), 10), nil
	case string:
		if needsFrame(v) {
			return frameBefore + base64.StdEncoding.EncodeToString([]byte(v)) + frameAfter, nil
		}
		return v, nil
	}
	return "", fmt.Errorf("neither text nor number")
}

const (
	frameBefore = "=?base64?"
	frameAfter  = "?="
)

func needsFrame(s string) bool {
	if strings.TrimSpace(s) != s || strings.HasPrefix(s, frameBefore) && strings.HasSuffix(s, frameAfter) {
		return true
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7e })
}
