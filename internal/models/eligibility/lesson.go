package eligibility

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/ids"
)

// Lessons are what calls at work showed of the models of a provider, beside its checks.
type Lessons struct {
	Provider string           `json:"provider"`
	BaseURL  string           `json:"base_url"` // that was called; lessons of another address count as none
	Models   map[string]Known `json:"models"`
}

// mostLessons is how many times the lesson of one model is stored before a check clears it, so that a model that answers now in
// one way and now in another is not written for ever.
const mostLessons = 32

// base returns the time of the check on which the knowledge rests; zero when there was none.
func (k Known) base() time.Time {
	if k.Lesson > 0 {
		return k.On
	}
	return k.At
}

// lessonsOf returns what was learned of a provider at an address.
func (s Settings) lessonsOf(name, base string) map[string]Known {
	if l, ok := s.Lessons[name]; ok && l.BaseURL == base {
		return l.Models
	}
	return nil
}

// known returns what is known of a model: by the last check of it, and by the calls since then.
func (p Provider) known(model string) Known {
	var checked Known
	if p.Check != nil {
		checked = p.Check.Models[model]
	}
	lesson, ok := p.Lessons[model]
	if !ok || !lesson.On.Equal(checked.At) { // a check clears what was learned before it
		return checked
	}
	lesson.Window = checked.Window
	return lesson
}

// Lesson is what calls at work showed of a model.
type Lesson struct {
	Model string
	Known
}

// Learned returns what calls at work showed of the provider's models, by name, as far as no later check cleared it.
func (p Provider) Learned() []Lesson {
	var list []Lesson
	for _, model := range slices.Sorted(maps.Keys(p.Lessons)) {
		if k := p.known(model); k.Lesson > 0 {
			list = append(list, Lesson{model, k})
		}
	}
	return list
}

// Learn stores what calls of a candidate showed of its model, as JSON, so that other processes heed it. It writes nothing that
// is known already, and nothing when another process was first or a check ended meanwhile: the next call tries again. It returns
// what is known now.
func (s *Service) Learn(ctx context.Context, account ids.Account, c Candidate, quirks json.RawMessage) (Known, error) {
	if len(quirks) == 0 || bytes.Equal(quirks, c.Known.Quirks) || c.Known.Lesson >= mostLessons {
		return c.Known, nil
	}
	settings, err := s.Store.Settings(ctx, account)
	if err != nil {
		return c.Known, err
	}
	at := slices.IndexFunc(s.Deployment.providers(settings, nil), func(p Provider) bool { return p.Name == c.Provider && p.BaseURL == c.BaseURL })
	if at < 0 {
		return c.Known, nil // it was moved, or is gone
	}
	if now := s.Deployment.providers(settings, nil)[at].known(c.Model); !now.At.Equal(c.Known.At) {
		return now, nil
	}
	var seen *Lessons
	if before, ok := settings.Lessons[c.Provider]; ok {
		seen = &before
	}
	lesson := Known{Quirks: quirks, At: s.Now(), On: c.Known.base(), Lesson: c.Known.Lesson + 1}
	next := Lessons{Provider: c.Provider, BaseURL: c.BaseURL, Models: Keep(settings.lessonsOf(c.Provider, c.BaseURL), c.Model, lesson)}
	switch err := s.Store.PutLessons(ctx, account, seen, next); {
	case errors.Is(err, ErrMoved):
		return c.Known, nil
	case err != nil:
		return c.Known, err
	}
	lesson.Window = c.Known.Window
	return lesson, nil
}

// findingsOf are the findings that say what a quirk means, by its name. Those with a value have it, or this one.
var findingsOf = []struct{ quirk, code, value string }{
	{"system_first", "system_front", ""},
	{"no_temperature", "no_temperature", ""},
	{"completion_tokens", "completion_tokens", ""},
	{"max_output", "max_output", ""},
	{"no_stream", "no_stream", ""},
	{"only_stream", "only_stream", ""},
	{"no_stream_options", "stream_no_usage", ""},
	{"no_tools", "no_tools", ""},
	{"plain_tools", "plain_tools", ""},
	{"no_tool_choice", "no_tool_choice", ""},
	{"short_ids", "short_ids", ""},
	{"no_reasoning", "no_reasoning", ""},
	{"format", "schema_by_tool", ""},
	{"thought", "thoughts", ""},
	{"all_thoughts", "thoughts_back", ""},
	{"no_thoughts", "thoughts_refused", ""},
	{"signed", "thought_signature", ""},
	{"no_extra", "signatures_refused", ""},
	{"opens_thought", "thinks_in_text", "</think>"},
	{"plain", "thinks_apart", ""},
	{"window", "window", ""},
}

// byPrompt is the value of the quirk format of a model that is asked for a form by words alone.
const byPrompt = "words"

// Findings returns what the quirks say, in the order in which they are told.
func (k Known) Findings() []Finding {
	var quirks map[string]any
	_ = json.Unmarshal(k.Quirks, &quirks) // they are of a client, or there are none
	var list []Finding
	for _, f := range findingsOf {
		value, has := quirks[f.quirk]
		if !has || f.quirk == "plain" && quirks["opens_thought"] == true {
			continue
		}
		one := Finding{Code: f.code, Value: f.value}
		switch v := value.(type) {
		case float64:
			one.Value = strconv.Itoa(int(v))
		case string:
			if one.Value = v; f.quirk == "format" && strings.EqualFold(v, byPrompt) {
				one.Code = "schema_by_prompt"
			}
		}
		list = append(list, one)
	}
	return list
}
