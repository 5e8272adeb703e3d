package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// endedRun is a run that ended, in the form in which the prompt of a conclusion has it.
type endedRun struct {
	Goal   string
	Status string
	Error  string
	Steps  []struct {
		Method, Path, Status, Undo string
		Body                       any
	}
}

// readEnded returns the run that the messages ask to tell about.
func readEnded(messages []openai.ChatCompletionMessage) (endedRun, bool) {
	var r endedRun
	_, after, ok := strings.Cut(messages[0].Content, "\n<ended>\n")
	text, _, closed := strings.Cut(after, "\n</ended>")
	return r, ok && closed && json.Unmarshal([]byte(text), &r) == nil
}

// conclude tells what came of a run, in the language of what was asked.
func conclude(r endedRun, asked string) string {
	s := speech{inEnglish(asked, false)}
	goal := strings.TrimRight(r.Goal, ".")
	switch r.Status {
	case "done":
		return s.done(r, goal)
	case "in_doubt":
		return s.say("end.in_doubt", goal)
	case "cancelled", "expired", "superseded":
		return s.say("end.cancelled", goal) + s.undone(r)
	}
	return s.say("end.error", goal, strings.TrimRight(r.Error, ".")) + s.undone(r)
}

// undone says that what had been done was taken back.
func (s speech) undone(r endedRun) string {
	for _, step := range r.Steps {
		if step.Undo == "done" {
			return " " + s.say("end.undone")
		}
	}
	return ""
}

// done tells the result of the last step that changed something, or else of the last one.
func (s speech) done(r endedRun, goal string) string {
	for _, step := range slices.Backward(r.Steps) {
		if step.Status != "done" || step.Method == "GET" || step.Method == "HEAD" {
			continue
		}
		body, _ := step.Body.(map[string]any)
		name, _ := body["room_name"].(string)
		start, _ := body["start"].(string)
		end, _ := body["end"].(string)
		booking := name != "" && start != "" && end != ""
		switch {
		case booking && step.Method == "POST":
			return s.say("end.booked", name, hour(start), hour(end))
		case booking && step.Method != "DELETE":
			return s.say("end.changed", name, hour(start), hour(end))
		case len(body) > 0:
			return s.say("end.result", goal, line(step.Body))
		}
		return s.say("end.done", goal)
	}
	for _, step := range slices.Backward(r.Steps) {
		if step.Status != "done" {
			continue
		}
		list, ok := listIn(step.Body)
		switch {
		case ok && len(list) == 0:
			return s.say("end.none")
		case ok:
			text := s.say("end.rows", len(list))
			for _, row := range list[:min(len(list), mostRows)] {
				text += "\n- " + line(row)
			}
			return text
		case step.Body != nil:
			return s.say("end.result", goal, line(step.Body))
		}
	}
	return s.say("end.done", goal)
}

// hour writes a time of the full hour as that hour.
func hour(clock string) string {
	return strings.TrimPrefix(strings.TrimSuffix(clock, ":00"), "0")
}

// listIn returns a value as a list, or the first list among the members of an object, by name.
func listIn(value any) ([]any, bool) {
	if list, ok := value.([]any); ok {
		return list, true
	}
	object, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if list, ok := object[name].([]any); ok {
			return list, true
		}
	}
	return nil, false
}

// line writes a value on one line: of an object its name and its simple members.
func line(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch member := object[name].(type) {
		case string, float64, bool:
			if name != "name" {
				parts = append(parts, fmt.Sprintf("%s: %v", name, member))
			}
		}
	}
	text := strings.Join(parts, ", ")
	if name, ok := object["name"].(string); ok {
		text = strings.TrimSuffix(name+" ("+text+")", " ()")
	}
	return strings.Join(strings.Fields(text), " ")
}
