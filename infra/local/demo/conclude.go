package demo

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// endedRun is a run that ended, in the form in which an event of the prompt has it.
type endedRun struct {
	RunID  string `json:"run_id"`
	Goal   string
	Status string
	Error  string
	Steps  []endedStep
}

type endedStep struct {
	Title, Method, Path, Status, Undo string
	Body                              any
}

// changed reports whether the step was done, and changed something.
func (e endedStep) changed() bool {
	return e.Status == "done" && e.Method != "GET" && e.Method != "HEAD"
}

// endOrder is the message that asks for the conclusion of a run.
var endOrder = regexp.MustCompile(`^\[SYSTEM\] The plan .* \(run_id (\S+)\) has ended`)

// readEnded returns the run that a request asks to tell about, and its dialogue.
func (c completion) readEnded(today time.Time) (endedRun, dialogue, bool) {
	before, last := c.Messages[:len(c.Messages)-1], c.Messages[len(c.Messages)-1]
	order := endOrder.FindStringSubmatch(textOf(last))
	if order == nil || last.Role != "user" || c.ToolChoice != "none" {
		return endedRun{}, dialogue{}, false
	}
	d := newDialogue(before, nil, today)
	for _, r := range eventsIn[endedRun](d.system, "plan_ended") {
		if r.RunID == order[1] {
			return r, d, true
		}
	}
	return endedRun{}, d, false
}

// conclude writes the conclusion of a run.
func (s speech) conclude(r endedRun) string {
	goal := s.word(strings.TrimRight(r.Goal, "."))
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

// undone says that the finished steps were undone.
func (s speech) undone(r endedRun) string {
	for _, step := range r.Steps {
		if step.Undo == "done" {
			return " " + s.say("end.undone")
		}
	}
	return ""
}

// done lists the changes of the steps, or else gives the result of the last one.
func (s speech) done(r endedRun, goal string) string {
	var did []string
	for _, step := range r.Steps {
		if step.changed() {
			did = append(did, s.change(step, goal))
		}
	}
	switch len(did) {
	case 0:
		return s.read(r, goal)
	case 1:
		return s.say("end.done", did[0])
	}
	return s.say("end.all") + "\n- " + strings.Join(did, "\n- ")
}

// change describes the change of a step, with its cost. goal stands for a step without a title.
func (s speech) change(step endedStep, goal string) string {
	body, _ := step.Body.(map[string]any)
	name, _ := body["room_name"].(string)
	name = s.word(name)
	start, _ := body["start"].(string)
	end, _ := body["end"].(string)
	booking := name != "" && start != "" && end != ""
	title := s.word(cmp.Or(strings.TrimRight(step.Title, "."), goal))
	for _, undo := range []string{"Deshacer: ", "Undo: "} { // the title of a step that undoes another
		if what, ok := strings.CutPrefix(title, undo); ok {
			title = s.say("end.undid", s.word(what))
		}
	}
	switch {
	case booking && step.Method == "POST":
		return s.say("end.booked", name, hour(start), hour(end)) + s.price(body)
	case booking && step.Method != "DELETE":
		return s.say("end.changed", name, hour(start), hour(end)) + s.price(body)
	case len(body) > 0:
		return s.say("end.result", title, s.lineOf(step.Body))
	}
	return title
}

// price is the cost of a reservation; "" when its answer has no price.
func (s speech) price(body map[string]any) string {
	if price, ok := body["price"].(float64); ok && price > 0 {
		return s.say("end.price", strconv.FormatFloat(price, 'f', -1, 64))
	}
	return ""
}

// read tells the result of the last step of a run that only read.
func (s speech) read(r endedRun, goal string) string {
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
				text += "\n- " + s.lineOf(row)
			}
			return text
		case step.Body != nil:
			return s.say("end.done", s.say("end.result", goal, s.lineOf(step.Body)))
		}
	}
	return s.say("end.done", goal)
}

// hour writes a time of the full hour as that hour.
func hour(clock string) string {
	return strings.TrimPrefix(strings.TrimSuffix(clock, ":00"), "0")
}

// listIn returns a value as a list, or the rows among the members of an object.
func listIn(value any) (list []any, ok bool) {
	if list, ok = value.([]any); ok {
		return list, true
	}
	rows, ok := rowsOf(encode(value))
	for _, row := range rows {
		list = append(list, decoded[any](row))
	}
	return list, ok
}

// lineOf writes a value on one line: of an object its name and its simple members.
func (s speech) lineOf(value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return strings.Join(strings.Fields(fmt.Sprint(value)), " ")
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch member := object[name].(type) {
		case string, float64, bool:
			if name != "name" {
				parts = append(parts, s.label(name)+": "+s.plain(member))
			}
		}
	}
	text := strings.Join(parts, ", ")
	if name, ok := object["name"].(string); ok {
		text = strings.TrimSuffix(s.word(name)+" ("+text+")", " ()")
	}
	return strings.Join(strings.Fields(text), " ")
}
