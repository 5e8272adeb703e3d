package webui

import (
	"cmp"
	"encoding/json"
	"slices"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// saidThing is a thing that a step names, such as a room, as its service described it when it was read.
type saidThing struct {
	Name  render.HTML // or its id
	ByID  bool        // it has no name
	Facts []saidValue
	From  string // who says so
}

// mostThings are the things of a step that are described.
const mostThings = 6

// factsInLine are the facts of a thing without a name that a line has.
const factsInLine = 6

// inOneLine returns the values of a call. After them come the fields of a thing without a name, because a person does not
// know it by its id alone.
func (s sentence) inOneLine() []saidValue {
	list := slices.Clone(s.Values)
	for _, t := range s.Things {
		if t.ByID {
			list = append(list, t.Facts[:min(factsInLine, len(t.Facts))]...)
		}
	}
	return list
}

// addThings describes the things that a step names: those whose ids were read, and those that its references were found to
// name before it was confirmed.
func (w *sentenceWriter) addThings() {
	for _, t := range w.card.run.Taken {
		if t.StepID == w.step.ID && !t.Gone {
			w.addThing(cmp.Or(t.Label, t.Value), t.About, locale.Text(w.card.pen.words.tag, "page.says.about", "service", plain(t.Service)), t.Names)
		}
	}
	for _, t := range w.step.Targets {
		if refs, err := ref.InText("${" + t.Ref + "}"); err == nil && len(refs) == 1 {
			w.addThing(cmp.Or(ref.NameIn(t.About), textOf(t.Value)), t.About, w.card.pen.origin(refs[0].Step), answerNames(w.card.run.Plan, plan.EffectOf(refs[0].Step)))
		}
	}
}

// addThing describes a thing by its facts, with their names in the document.
func (w *sentenceWriter) addThing(name string, about []ref.Fact, from string, names []ref.Named) {
	one := sentenceWriter{card: w.card, names: names, read: true, sentence: sentence{Whole: true}}
	for _, f := range about {
		if textOf(f.Value) != name {
			one.value(f.Value, "", f.Name)
		}
	}
	t := saidThing{Name: w.card.pen.show(name), ByID: ref.NameIn(about) == "", Facts: one.Values, From: from}
	if len(t.Facts) > 0 && len(w.Things) < mostThings && !slices.ContainsFunc(w.Things, t.isSame) {
		w.Things = append(w.Things, t)
	}
}

// isSame reports whether the same is said of two things.
func (t saidThing) isSame(o saidThing) bool {
	return o.Name == t.Name && slices.Equal(o.Facts, t.Facts)
}

// textOf returns a JSON text without its quotes, and another value as it is.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// resultOf returns the result of a step that was done, when the run has all of it.
func (a cardBuilder) resultOf(id plan.EffectID) (ref.Result, bool) {
	state := a.run.State(id)
	r := state.Result
	if r == nil || state.Status != plan.StepDone || r.Truncated || r.Apart > 0 {
		return ref.Result{}, false
	}
	return ref.Result{Status: r.Status, Headers: r.Headers, Body: r.Body}, true
}

// chosen says a reference to the result of a step that was done: the value that it gave, by its name.
func (w *sentenceWriter) chosen(r ref.Reference) (value, sent render.HTML, ok bool) {
	lookup := func(id string) (ref.Result, bool) { return w.card.resultOf(plan.EffectOf(id)) }
	raw, _, err := ref.ValueAndLabel(r, lookup)
	if err != nil || r.Secret() || len(raw) == 0 || raw[0] == '{' || raw[0] == '[' {
		return "", "", false
	}
	last := ""
	if n := len(r.Path); n > 0 {
		last = r.Path[n-1].Name
	}
	one := sentenceWriter{card: w.card, sentence: sentence{Whole: true}}
	one.value(raw, "", last)
	if len(one.Values) != 1 {
		return "", "", false
	}
	value = one.Values[0].Value
	about := ref.FactsAround(r, lookup)
	name := ref.NameIn(about)
	w.addThing(cmp.Or(name, textOf(raw)), about, w.card.pen.origin(r.Step), answerNames(w.card.run.Plan, plan.EffectOf(r.Step)))
	if name != "" && name != textOf(raw) {
		return w.card.pen.show(name), value, true
	}
	return value, "", true
}

// answerNames returns the document's names of the members of the answer to a step.
func answerNames(p plan.Plan, of plan.EffectID) []ref.Named {
	b, _ := p.Binding(of)
	return b.AnswerNames
}

// answeredCosts returns the amounts of money in the answer to a step.
func (a cardBuilder) answeredCosts(s plan.Step) []saidValue {
	body, ok := a.resultOf(s.ID)
	if !ok {
		return nil
	}
	w := sentenceWriter{card: a, sentence: sentence{Whole: true}}
	w.addThing("", ref.Facts(structured(s, body.Body), ""), "", answerNames(a.run.Plan, s.ID))
	return w.costs()
}

// structured returns the answer to a step as JSON: of a tool, its structured content.
func structured(s plan.Step, body json.RawMessage) json.RawMessage {
	var result struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if s.Tool != "" && json.Unmarshal(body, &result) == nil && len(result.Structured) > 0 {
		return result.Structured
	}
	return body
}
