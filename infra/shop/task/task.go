// Package task is the bench's tasks: the person who writes, the end of the data that their request leads to, and the rules by which
// a scripted customer speaks. Tasks are data (es.yaml, en.yaml).
package task

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"piloto/infra/shop/business"
)

//go:embed es.yaml en.yaml
var files embed.FS

// languages are those of the tasks, each with a file.
var languages = []string{"es", "en"}

// Task is one thing that a customer wants.
type Task struct {
	ID       string   `yaml:"id"`
	Kind     string   `yaml:"kind"`  // the difficulty that it is about
	Wants    string   `yaml:"wants"` // in the first person; also said when a plan is something else
	Me       Person   `yaml:"me"`
	Says     []Line   `yaml:"says"`    // in order
	Answers  []Rule   `yaml:"answers"` // to questions
	Expect   []Action `yaml:"expect"`  // the writes that lead to the expected end, in an order that works
	Tempted  []Action `yaml:"tempted"` // writes that the customer would confirm as well, until a line at a card takes them back
	Tells    []string `yaml:"tells"`   // patterns; a text of the assistant has to match each
	Never    []string `yaml:"never"`   // patterns that no text of the assistant may match
	Language string   `yaml:"-"`

	words words
}

// Person is who the customer says they are.
type Person struct {
	Name  string `yaml:"name"`
	Email string `yaml:"email"`
}

// Line is a message of the customer.
type Line struct {
	Say   string `yaml:"say"`
	When  string `yaml:"when"`  // "card": in place of confirming a plan; "": when the assistant has answered
	After int    `yaml:"after"` // expected writes that are done before
}

// Rule is an answer to a question that a pattern matches.
type Rule struct {
	If  string `yaml:"if"`
	Say string `yaml:"say"`
}

// Action is one write at the studio.
type Action struct {
	Do   string         `yaml:"do"` // method and path
	Body map[string]any `yaml:"body"`
	Must bool           `yaml:"must"` // it has to have been served, because the end of the data does not show it
}

// words are the customer's words that are no part of a task, in one language.
type words struct {
	Yes      string `yaml:"yes"`
	Named    string `yaml:"named"` // a yes to a plan that destroys something
	GoOn     string `yaml:"go_on"`
	Unknown  string `yaml:"unknown"`
	Object   string `yaml:"object"`
	Identify string `yaml:"identify"` // with {name} and {email}
	AsksWho  string `yaml:"asks_who"` // the pattern of a question for that
	Asks     string `yaml:"asks"`     // the pattern of a question or a request
	Closes   string `yaml:"closes"`   // the pattern of the sentence that asks whether there is something else
}

// All returns the tasks, sorted by their numbers.
func All() ([]Task, error) {
	var all []Task
	for _, language := range languages {
		raw, err := files.ReadFile(language + ".yaml")
		if err != nil {
			return nil, err
		}
		var file struct {
			Words words  `yaml:"words"`
			Tasks []Task `yaml:"tasks"`
		}
		decoder := yaml.NewDecoder(strings.NewReader(string(raw)))
		decoder.KnownFields(true)
		if err := decoder.Decode(&file); err != nil {
			return nil, fmt.Errorf("%s.yaml: %w", language, err)
		}
		for _, t := range file.Tasks {
			t.Language, t.words = language, file.Words
			for _, pattern := range t.patterns() {
				if _, err := regexp.Compile(pattern); err != nil {
					return nil, fmt.Errorf("%s: %w", t.ID, err)
				}
			}
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Task) int { return strings.Compare(a.number(), b.number()) })
	return all, nil
}

// patterns returns every pattern of a task.
func (t Task) patterns() []string {
	all := slices.Concat(t.Tells, t.Never, []string{t.words.AsksWho, t.words.Asks, t.words.Closes})
	for _, r := range t.Answers {
		all = append(all, r.If)
	}
	return all
}

func (t Task) number() string { return t.ID[strings.IndexByte(t.ID, '-')+1:] }

// Solve serves the expected writes with a fresh studio, and returns the expected end.
func (t Task) Solve() (business.State, error) {
	studio := business.New()
	for _, a := range t.Expect {
		if err := a.serve(studio); err != nil {
			return business.State{}, fmt.Errorf("%s: %s: %w", t.ID, a.Do, err)
		}
	}
	return studio.State(), nil
}

// serve has a handler serve the write. A refusal is an error.
func (a Action) serve(studio http.Handler) error {
	method, path, _ := strings.Cut(a.Do, " ")
	body := ""
	if a.Body != nil {
		raw, err := json.Marshal(a.Body)
		if err != nil {
			return err
		}
		body = string(raw)
	}
	answer := httptest.NewRecorder()
	studio.ServeHTTP(answer, httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body)))
	if answer.Code >= http.StatusBadRequest {
		return fmt.Errorf("%d %s", answer.Code, strings.TrimSpace(answer.Body.String()))
	}
	return nil
}
