package task

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"piloto/infra/shop/business"
)

// Judge returns why a conversation came to another end than the expected one; empty: it succeeded. texts are those that the
// assistant wrote to the customer.
func (t Task) Judge(studio *business.Service, texts []string) ([]string, error) {
	want, err := t.Solve()
	if err != nil {
		return nil, err
	}
	wrong := studio.State().Differences(want)
	for _, a := range t.Expect {
		if a.Must && !slices.ContainsFunc(studio.Writes(), a.served) {
			wrong = append(wrong, "it was never done: "+a.Do)
		}
	}
	for _, pattern := range t.Tells {
		if !said(pattern, texts) {
			wrong = append(wrong, fmt.Sprintf("no text says %s", pattern))
		}
	}
	for _, pattern := range t.Never {
		if said(pattern, texts) {
			wrong = append(wrong, fmt.Sprintf("a text says %s", pattern))
		}
	}
	return wrong, nil
}

func (a Action) served(w business.Write) bool {
	var body any
	if len(w.Body) > 0 && json.Unmarshal(w.Body, &body) != nil {
		return false
	}
	return a.matches(Step{Method: w.Method, Path: w.Path, Body: body})
}

// said reports whether a pattern, which All has compiled, matches one of the texts.
func said(pattern string, texts []string) bool {
	return slices.ContainsFunc(texts, regexp.MustCompile(pattern).MatchString)
}
