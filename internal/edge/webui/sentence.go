package webui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// sentence is a call as a person reads it: the summary of its service, and its values by their names. It is made of the
// request, and not of the model's words.
type sentence struct {
	What   render.HTML // the summary of the operation; "" when the document has none, or the title says the same
	About  render.HTML // of a tool: how its server describes it
	By     string      // the name of that server
	Values []saidValue
	Things []saidThing // the known facts of the things that it names
	Whole  bool        // every value of the call is in it, to its end
}

// saidValue is one value of a call.
type saidValue struct {
	Name, Value render.HTML
	Called      string      // the name that is sent, when Name is the document's
	Sent        render.HTML // the value that is sent, when Value is its name, or the name of a later value
	From        string      // where the name comes from, or the reference
	Money       bool
	Later       bool // it is known only when an earlier step was done
}

// Limits of a sentence. A cut makes it incomplete, and the request is unfolded.
const (
	mostSaid    = 10  // values
	longestSaid = 140 // characters of a text
	mostListed  = 8   // elements of a list of single values
	deepestSaid = 3   // objects within each other
)

// sentence returns the sentence of a step.
func (a cardBuilder) sentence(s plan.Step, b plan.Binding) sentence {
	if s.MCPID == tool.FilesID { // its changes say it
		return sentence{Whole: true}
	}
	w := sentenceWriter{card: a, step: s, names: b.Names, sentence: sentence{Whole: true}}
	if title := clip.Line(b.Summary); !strings.EqualFold(title, clip.Line(s.Title)) {
		w.What = a.pen.show(title)
	}
	if about := clip.Line(b.About); about != "" && about != clip.Line(b.Summary) {
		w.About, w.By = a.pen.show(about), plain(b.ServerName)
	}
	values, fits := pathValues(b.Template, s.Path)
	w.Whole = fits || s.Tool != ""
	for _, v := range values {
		w.text("path", strings.TrimSpace(v.name), v.value, false)
	}
	w.object(s.Query, "query", "", 0)
	w.object(s.Headers, "headers", "", 0)
	w.object(s.Body, "body", "", 0)
	w.addThings()
	return w.sentence
}

// readsAs reports whether two values are the same to a reader, who sees a name before a value.
func (v saidValue) readsAs(o saidValue) bool {
	whole := func(v saidValue) string { return strings.TrimSpace(string(v.Name + " " + v.Value)) }
	return whole(v) == whole(o)
}

// costs returns the values that are amounts of money, those of the call before those of the things that it names. An amount of
// a thing has its name in its value, because the call does not pay it: lists show values alone.
func (s sentence) costs() (list []saidValue) {
	for _, v := range s.Values {
		if v.Money {
			list = append(list, v)
		}
	}
	for _, t := range s.Things {
		for _, v := range t.Facts {
			named := saidValue{Value: v.Name + " " + v.Value, Money: true}
			if v.Money && !slices.Contains(list, named) {
				list = append(list, named)
			}
		}
	}
	return list
}

type sentenceWriter struct {
	sentence
	card  cardBuilder
	step  plan.Step
	names []ref.Named // the document's names of the members, in its order
	read  bool        // it is about an answer, and not about a request
}

// object says the members of a JSON object: those that the document names in its order, then the others in their own. Another value is said as a whole.
func (w *sentenceWriter) object(raw json.RawMessage, where, name string, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth == 0 && string(raw) == "null" {
		return
	}
	if raw[0] != '{' || depth == deepestSaid {
		w.value(raw, where, name)
		return
	}
	members, ok := jcs.Members(raw)
	w.Whole = w.Whole && ok
	if depth == 0 {
		slices.SortStableFunc(members, func(a, b jcs.Member) int { return w.rank(a.Name) - w.rank(b.Name) })
	}
	for _, m := range members {
		w.object(m.Value, where+"."+m.Name, strings.TrimSpace(name+" "+m.Name), depth+1)
	}
	if empty := len(members) == 0 && depth > 0; empty {
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.empty")})
	}
}

// value says a value that is no object, or too deep in one.
func (w *sentenceWriter) value(raw json.RawMessage, where, name string) {
	var text string
	switch {
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		w.text(where, name, text, isMoney(name))
	case string(raw) == "true":
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.yes")})
	case string(raw) == "false":
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.no")})
	case string(raw) == "null":
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.empty")})
	case raw[0] == '[':
		w.list(raw, where, name)
	case raw[0] == '{':
		w.Whole = false
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.object")})
	default: // a number
		v := saidValue{Name: w.name(name), Called: w.called(name), Value: w.card.pen.show(w.card.pen.words.number(string(raw), name)), Money: isMoney(name)}
		w.put(w.named(v, where, string(raw)))
	}
}

// text says a text: a date as a date, a reference as the name of its thing or as the place of its result.
func (w *sentenceWriter) text(where, name, text string, money bool) {
	v := saidValue{Name: w.name(name), Called: w.called(name), Money: money}
	switch {
	case ref.Whole(text):
		v = w.reference(v, text)
	case ref.Contains(text):
		p := visibleWriter{step: w.card.pen.origin}
		p.text(w.clip(text))
		v.Value = p.html()
		w.card.card.Marked = w.card.card.Marked || p.marked
	case text == "":
		v.Value = w.word("page.says.empty")
	default:
		asDate := w.card.pen.words.date
		if w.read {
			asDate = w.card.pen.words.readDate
		}
		if date, ok := asDate(text, w.card.now); ok {
			v.Value, v.From = w.card.pen.show(date), text
			break
		}
		v.Value = w.card.pen.show(w.clip(text))
		v = w.named(v, where, text)
	}
	w.put(v)
}

// named gives a value the name that the answer from which it was read has for it.
func (w *sentenceWriter) named(v saidValue, where, value string) saidValue {
	for _, t := range w.card.run.Taken {
		if t.StepID == w.step.ID && t.Value == value && t.Label != "" && t.Label != value && t.Where == where {
			v.Sent, v.Value = v.Value, w.card.pen.show(t.Label)
			v.From = locale.Text(w.card.pen.words.tag, "page.says.named", "service", plain(t.Service))
			return v
		}
	}
	return v
}

// reference says the result of an earlier step: the name of the thing, when it is known, else where it will be found.
func (w *sentenceWriter) reference(v saidValue, text string) saidValue {
	tag := w.card.pen.words.tag
	refs, err := ref.InText(text)
	if err != nil || len(refs) != 1 {
		v.Value = w.card.pen.reference(text)
		return v
	}
	r := refs[0]
	v.From = w.card.pen.origin(r.Step)
	for _, t := range w.step.Targets {
		if name := cmp.Or(ref.NameIn(t.About), t.Label); t.Ref == r.String() {
			if len(t.About) > 0 && ref.NameIn(t.About) == "" {
				name = textOf(t.Value)
			}
			v.Value, v.Sent = w.card.pen.show(name), w.card.pen.show(textOf(t.Value))
			return v
		}
	}
	if value, sent, ok := w.chosen(r); ok {
		v.Value, v.Sent = value, sent
		return v
	}
	v.Value, v.Later = w.place(r, tag), r.Step != plan.ItemName && w.card.run.Status == plan.Draft
	return v
}

// place says where the result of a reference will be found.
func (w *sentenceWriter) place(r ref.Reference, tag locale.Tag) render.HTML {
	var parts []string // the innermost first
	for _, s := range slices.Backward(r.Path) {
		name := string(w.card.pen.show(ref.Words(s.Name)))
		switch {
		case s.IsIdx && s.Index == 0:
			parts = append(parts, locale.Text(tag, "page.says.first"))
		case s.IsIdx:
			parts = append(parts, locale.Text(tag, "page.says.nth", "n", itoa(s.Index+1)))
		case len(parts) == 0:
			parts = append(parts, name)
		default:
			parts = append(parts, locale.Text(tag, "page.says.in", "name", name))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, locale.Text(tag, wholeParts[r.Part]))
	}
	at := locale.Text(tag, "page.says.element")
	if n := w.card.run.Plan.Place(plan.EffectOf(r.Step)); n > 0 {
		at = locale.Text(tag, "page.says.step", "n", itoa(n))
	}
	if len(parts) > 1 {
		at = ", " + at
	} else {
		at = " " + at
	}
	said := strings.Join(parts, " ") + at
	return render.HTML(said) //nolint:gosec // texts of the catalogue, and parts that are HTML
}

// wholeParts are the names of a whole part of a result.
var wholeParts = map[string]string{"body": "page.says.body", "status": "page.says.status", "headers": "page.says.headers"}

// list says the elements of a list of single values, or how many there are.
func (w *sentenceWriter) list(raw json.RawMessage, where, name string) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || len(elements) == 0 {
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: w.word("page.says.empty")})
		return
	}
	single := !slices.ContainsFunc(elements, func(e json.RawMessage) bool { return e[0] == '{' || e[0] == '[' })
	if !single || len(elements) > mostListed {
		w.Whole = false
		w.put(saidValue{Name: w.name(name), Called: w.called(name), Value: render.HTML(locale.Text(w.card.pen.words.tag, "page.says.elements", "n", itoa(len(elements))))}) //nolint:gosec // a text of the catalogue
		return
	}
	one := sentenceWriter{card: w.card, step: w.step, names: w.names, sentence: sentence{Whole: true}}
	var values []string
	for i, e := range elements {
		one.value(e, where+"."+strconv.Itoa(i), name)
	}
	w.Whole = w.Whole && one.Whole
	v := saidValue{Name: w.name(name), Called: w.called(name)}
	for _, e := range one.Values {
		values = append(values, string(e.Value))
		v.Money = v.Money || e.Money
	}
	v.Value = render.HTML(strings.Join(values, ", ")) //nolint:gosec // made of parts that are HTML
	w.put(v)
}

// put adds a value if it fits. Amounts always fit.
func (w *sentenceWriter) put(v saidValue) {
	if len(w.Values) >= mostSaid && !v.Money {
		w.Whole = false
		return
	}
	w.Values = append(w.Values, v)
}

// clip shortens a text that is too long for a sentence.
func (w *sentenceWriter) clip(text string) string {
	short := clip.Runes(text, longestSaid)
	w.Whole = w.Whole && short == text
	return short
}

func (w *sentenceWriter) word(key string) render.HTML {
	return render.HTML(locale.Text(w.card.pen.words.tag, key)) //nolint:gosec // a text of the catalogue
}

// name returns the shown name of a member.
func (w *sentenceWriter) name(name string) render.HTML {
	called, _ := ref.Called(w.names, name, ref.Words)
	return w.card.pen.show(called)
}

// called returns the name that is sent, when a member is called otherwise.
func (w *sentenceWriter) called(name string) string {
	if _, has := ref.Called(w.names, name, ref.Words); has {
		return plain(name)
	}
	return ""
}

// rank returns the position of a member in the document; one that it does not name comes last.
func (w *sentenceWriter) rank(name string) int {
	if i := slices.IndexFunc(w.names, func(n ref.Named) bool { return n.Name == name }); i >= 0 {
		return i
	}
	return len(w.names)
}

// moneyNames are the words that name an amount of money.
var moneyNames = []string{
	"amount", "price", "cost", "fee", "total", "subtotal", "charge", "payment", "deposit", "refund", "discount", "balance", "salary", "budget",
	"importe", "precio", "coste", "costo", "monto", "tarifa", "pago", "abono", "reembolso", "descuento", "saldo", "fianza", "presupuesto",
}

// isMoney reports whether a name is that of an amount of money.
func isMoney(name string) bool {
	return slices.ContainsFunc(strings.Fields(ref.Words(name)), func(word string) bool { return slices.Contains(moneyNames, word) })
}

// pathValue is a parameter of a path.
type pathValue struct{ name, value string }

// pathValues returns the parameters of a path by its template, and whether the path has the form of the template.
func pathValues(template, path string) (list []pathValue, fits bool) {
	names, values := strings.Split(template, "/"), strings.Split(path, "/")
	if len(names) != len(values) {
		return nil, false
	}
	for i, name := range names {
		if !strings.Contains(name, "{") {
			continue
		}
		value := values[i]
		if text, err := url.PathUnescape(value); err == nil && !ref.Contains(value) {
			value = text
		}
		list = append(list, pathValue{strings.NewReplacer("{", " ", "}", " ").Replace(name), value})
	}
	return list, true
}
