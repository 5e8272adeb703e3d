package webui

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/jcs"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// legible is a JSON value as a person reads it: an object as its fields, a list of objects as a table, a list of other
// values as a list. Parts that it leaves out are in the raw value beside it.
type legible struct {
	Fields []readField
	Tables []readTable
	List   []readValue
	Cut    bool // something is left out
}

// readField is a member of an object; nested ones have the names of all, "address city".
type readField struct {
	Name  render.HTML
	Value readValue
}

// readValue is a single value. A long text is folded after its beginning.
type readValue struct {
	Text   render.HTML
	Rest   render.HTML // the text in full, when Text is only its beginning
	Image  string      // address of the image that the text is
	Number bool
	Sort   string // the sort key of a table
}

// readTable is a list of objects. A row lacks the values that its object does not have.
type readTable struct {
	Name   render.HTML // of the member that holds it; "" for the whole value
	Names  []render.HTML
	Rows   [][]readValue
	Total  int
	From   int // number of the first row, from 0
	Folded int // columns that are left out
}

// next returns the number of the first row after those of the table, and rest how many come.
func (t readTable) next() int { return t.From + len(t.Rows) }
func (t readTable) rest() int { return t.Total - t.next() }

// Limits of a legible.
const (
	mostFields   = 40
	mostColumns  = 12
	rowsShown    = 50
	longestCell  = 161       // characters, with the ellipsis of a longer text
	largestRead  = 256 << 10 // bytes of a value that is read
	deepestField = 3         // objects within each other
)

// read returns the legible form of a value from one row of its lists on, of about so many bytes; nil for a value that reads
// best as it is, such as a text. names has the names of its members in the document of the service.
func (w words) read(raw json.RawMessage, names []ref.Named, from, room int, now time.Time) *legible {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(raw) > largestRead || raw[0] != '{' && raw[0] != '[' {
		return nil
	}
	r := reader{words: w, names: names, from: from, room: room, now: now}
	if raw[0] == '[' {
		r.list(raw, "")
	} else {
		r.object(raw, "", 0)
	}
	if len(r.Fields)+len(r.Tables)+len(r.List) == 0 {
		return nil
	}
	return &r.legible
}

type reader struct {
	legible
	words words
	names []ref.Named
	from  int
	room  int // bytes that are left
	now   time.Time
}

func (r *reader) object(raw json.RawMessage, name string, depth int) {
	members, ok := jcs.Members(raw)
	if !ok || depth == deepestField {
		r.Cut = true
		return
	}
	for _, m := range members {
		full := strings.TrimSpace(name + " " + m.Name)
		switch {
		case m.Value[0] == '{':
			r.object(m.Value, full, depth+1)
		case m.Value[0] == '[':
			r.list(m.Value, full)
		case len(r.Fields) < mostFields && r.room > 0:
			r.Fields = append(r.Fields, readField{r.name(full), r.value(m.Value, full)})
		default:
			r.Cut = true
		}
	}
}

// list reads a list: as a table when all of its elements are objects.
func (r *reader) list(raw json.RawMessage, name string) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || len(elements) == 0 {
		if name != "" {
			r.Fields = append(r.Fields, readField{r.name(name), readValue{Text: r.none()}})
		}
		return
	}
	objects, singles := 0, 0
	for _, e := range elements {
		switch e[0] {
		case '{':
			objects++
		case '[':
		default:
			singles++
		}
	}
	switch {
	case objects == len(elements):
		r.table(elements, name)
	case singles == len(elements) && name == "":
		for _, e := range elements[:min(rowsShown, len(elements))] {
			if r.room <= 0 {
				r.Cut = true
				break
			}
			r.List = append(r.List, r.value(e, ""))
		}
		r.Cut = r.Cut || len(elements) > rowsShown
	case singles == len(elements) && len(elements) <= rowsShown:
		var texts []string
		for _, e := range elements {
			texts = append(texts, string(r.value(e, name).Text))
		}
		r.Fields = append(r.Fields, readField{r.name(name), readValue{Text: render.HTML(strings.Join(texts, ", "))}}) //nolint:gosec // made of parts that are HTML
	default:
		r.Cut = true
	}
}

func (r *reader) table(elements []json.RawMessage, name string) {
	t := readTable{Total: len(elements), From: r.from}
	if name != "" {
		t.Name = r.name(name)
	}
	column := map[string]int{}
	// The columns are those of the first rows, whichever page it is.
	for _, e := range elements[:min(rowsShown, len(elements))] {
		members, _ := jcs.Members(e)
		for _, m := range members {
			if _, known := column[m.Name]; known {
				continue
			}
			column[m.Name] = len(column)
			if len(t.Names) < mostColumns {
				t.Names = append(t.Names, r.name(m.Name))
			}
		}
	}
	t.Folded = len(column) - len(t.Names)
	for i, e := range elements[min(r.from, len(elements)):min(r.from+rowsShown, len(elements))] {
		if i > 0 && r.room <= 0 { // the others come as those of the next page
			break
		}
		row := make([]readValue, len(t.Names))
		members, _ := jcs.Members(e)
		for _, m := range members {
			if at, ok := column[m.Name]; ok && at < len(row) {
				row[at] = r.value(m.Value, m.Name)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	r.Cut = r.Cut || t.Folded > 0
	r.Tables = append(r.Tables, t)
}

// value reads a single value. Of one that holds others, only the size is shown.
func (r *reader) value(raw json.RawMessage, name string) readValue {
	v := r.single(raw, name)
	r.room -= len(v.Text) + len(v.Rest) + 16
	return v
}

func (r *reader) single(raw json.RawMessage, name string) readValue {
	var text string
	switch raw[0] {
	case '"':
		if json.Unmarshal(raw, &text) != nil {
			return readValue{Text: display(string(raw))}
		}
		if date, ok := r.words.readDate(text, r.now); ok {
			return readValue{Text: display(date), Sort: text}
		}
		if image := pictureURL(text); len(image) > r.room {
			r.Cut = true
			return readValue{Text: r.word("page.part.image")}
		} else if image != "" {
			r.room -= len(image)
			return readValue{Image: image}
		}
		short := clip.Runes(text, longestCell)
		value := readValue{Text: display(short), Sort: short}
		switch {
		case short == text:
		case len(text) > r.room:
			r.Cut = true
		default:
			value.Rest = prose(text)
		}
		return value
	case 't':
		return readValue{Text: r.word("page.says.yes"), Sort: "1"}
	case 'f':
		return readValue{Text: r.word("page.says.no"), Sort: "0"}
	case 'n':
		return readValue{Text: r.none()}
	case '{':
		r.Cut = true
		return readValue{Text: r.word("page.read.object")}
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements) // it was decoded as JSON already
		r.Cut = r.Cut || len(elements) > 0
		return readValue{Text: render.HTML(locale.Text(r.words.tag, "page.says.elements", "n", itoa(len(elements))))} //nolint:gosec // a text of the catalogue
	}
	return readValue{Text: display(r.words.number(string(raw), name)), Number: true, Sort: string(raw)}
}

// name returns the shown name of a member.
func (r *reader) name(name string) render.HTML {
	called, _ := ref.Called(r.names, name, ref.Words)
	return display(called)
}

func (r *reader) none() render.HTML { return r.word("page.says.empty") }

func (r *reader) word(key string) render.HTML {
	return render.HTML(locale.Text(r.words.tag, key)) //nolint:gosec // a text of the catalogue
}

// rows reads the next rows of a table in an answer: of the effect that the path names, ?table= by its number, ?from= a row.
func (k cardReader) rows(ctx context.Context, v visit, runID string) ([]any, error) {
	q := v.req.URL.Query()
	n, from := atoi(q.Get("table")), atoi(q.Get("from"))
	if !ids.Valid(runID) || n < 0 || from < 0 {
		return nil, plan.ErrRunNotFound
	}
	run, err := k.runs.Run(ctx, v.who.Account, runID)
	if err != nil {
		return nil, err
	}
	id := plan.ParseEffect(v.req.PathValue("step"))
	state := run.State(id)
	if state.Result == nil || state.Result.Truncated || state.Result.Apart > 0 {
		return nil, plan.ErrStepNotFound
	}
	read := v.words().read(state.Result.Body, answerNames(run.Plan, id), from, 2*resultShown, v.now)
	if read == nil || n >= len(read.Tables) {
		return nil, plan.ErrStepNotFound
	}
	return []any{read.Tables[n], cardBuilder{run: run}.rows(id), n}, nil
}

// atoi returns a number that is not negative; -1 for anything else, 0 for nothing.
func atoi(text string) int {
	if text == "" {
		return 0
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return n
	}
	return -1
}
