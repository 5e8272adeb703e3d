package machines

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed cases/*.json
var files embed.FS

// A Case is one machine: what it is given and what it does.
type Case struct {
	Topic      string              `json:"-"` // the file
	Name       string              `json:"name"`
	Definition json.RawMessage     `json:"definition"`
	Input      json.RawMessage     `json:"input"`     // absent: {}
	Functions  map[string][]Answer `json:"functions"` // one that has no script answers with its payload

	// Virtual says why the case needs virtual time; empty: it runs anywhere.
	Virtual string `json:"virtual,omitempty"`
	// Refused is the JSON pointer for which the definition is refused; nothing
	// below is looked at then.
	Refused string `json:"refused,omitempty"`

	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"` // absent: not looked at
	Error   string          `json:"error"`
	Cause   *string         `json:"cause"`    // absent: not looked at
	Says    string          `json:"says"`     // part of the cause
	Calls   []Call          `json:"calls"`    // in order; absent: not looked at
	Elapsed *float64        `json:"elapsed"`  // seconds from start to stop
	Within  *[2]float64     `json:"between"`  // the same, at least and at most
	History []string        `json:"history"`  // "id<previous Type"; absent: not looked at
	Events  []string        `json:"contains"` // types of events that are in the history, in this order

	// Unlike says why asl-validator refuses the definition though AWS takes it.
	Unlike string `json:"unlike"`
}

// A Call is one invocation of a function. Without a payload any will do.
type Call struct {
	Function  string          `json:"function"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Qualifier string          `json:"qualifier,omitempty"`
	Kind      string          `json:"kind,omitempty"` // "Event"; empty: nobody looks

	At time.Time `json:"-"` // when it came
}

// Cases returns all cases, in the order of their files.
func Cases() ([]Case, error) {
	names, err := fs.Glob(files, "cases/*.json")
	if err != nil {
		return nil, err
	}
	var all []Case
	seen := map[string]bool{}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var list []Case
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i := range list {
			list[i].Topic = strings.TrimSuffix(path.Base(name), ".json")
			if seen[list[i].ID()] {
				return nil, fmt.Errorf("%s: there are two cases %q", name, list[i].Name)
			}
			seen[list[i].ID()] = true
		}
		all = append(all, list...)
	}
	return all, nil
}

// ID names the case among all.
func (c *Case) ID() string { return c.Topic + "/" + c.Name }

var functionNames = regexp.MustCompile(`"(lambda|name):([A-Za-z][A-Za-z0-9]*)`)

// deployed writes the names that functions have in this run: their own and a
// suffix, so that many cases can share a Lambda API.
func deployed(text json.RawMessage, suffix string) string {
	return functionNames.ReplaceAllStringFunc(string(text), func(found string) string {
		kind, name, _ := strings.Cut(found[1:], ":")
		if kind == "lambda" {
			return `"arn:aws:lambda:us-east-1:123456789012:function:` + name + suffix
		}
		return `"` + name + suffix
	})
}

// DefinitionText is the definition with the functions' names as deployed.
func (c *Case) DefinitionText(suffix string) string { return deployed(c.Definition, suffix) }

// InputText is the input of the execution.
func (c *Case) InputText(suffix string) string {
	if c.Input == nil {
		return "{}"
	}
	return deployed(c.Input, suffix)
}
