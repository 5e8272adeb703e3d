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

// A Case is one machine with its input and its expected behaviour.
type Case struct {
	Topic      string              `json:"-"` // name of the file
	Name       string              `json:"name"`
	Definition json.RawMessage     `json:"definition"`
	Input      json.RawMessage     `json:"input"`     // absent: {}
	Functions  map[string][]Answer `json:"functions"` // a function without a script returns its payload

	// Virtual is the reason why the case needs virtual time; empty: it runs anywhere.
	Virtual string `json:"virtual,omitempty"`
	// Refused is the JSON pointer for which the definition is refused; the fields below are then
	// ignored.
	Refused string `json:"refused,omitempty"`

	Status  string          `json:"status"`
	Output  json.RawMessage `json:"output"` // absent: not checked
	Error   string          `json:"error"`
	Cause   *string         `json:"cause"`    // absent: not checked
	Says    string          `json:"says"`     // part of the cause
	Calls   []Call          `json:"calls"`    // in order; absent: not checked
	Elapsed *float64        `json:"elapsed"`  // seconds from start to stop
	Within  *[2]float64     `json:"between"`  // the same, at least and at most
	History []string        `json:"history"`  // "id<previous Type"; absent: not checked
	Events  []string        `json:"contains"` // types of events that the history contains, in this order

	// Unlike is the reason why asl-validator refuses the definition though AWS accepts it.
	Unlike string `json:"unlike"`
}

// A Call is one invocation of a function. Without a payload any payload matches.
type Call struct {
	Function  string          `json:"function"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	Qualifier string          `json:"qualifier,omitempty"`
	Kind      string          `json:"kind,omitempty"` // "Event"; empty: not checked

	At time.Time `json:"-"` // time of the call
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

// deployedText adds a suffix to the names of functions in this run, so that many cases can share a
// Lambda API.
func deployedText(text json.RawMessage, suffix string) string {
	return functionNames.ReplaceAllStringFunc(string(text), func(found string) string {
		kind, name, _ := strings.Cut(found[1:], ":")
		if kind == "lambda" {
			return `"arn:aws:lambda:us-east-1:123456789012:function:` + name + suffix
		}
		return `"` + name + suffix
	})
}

// DefinitionText returns the definition with the functions' names as deployed.
func (c *Case) DefinitionText(suffix string) string { return deployedText(c.Definition, suffix) }

// InputText returns the input of the execution.
func (c *Case) InputText(suffix string) string {
	if c.Input == nil {
		return "{}"
	}
	return deployedText(c.Input, suffix)
}
