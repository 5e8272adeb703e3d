package webui

import (
	"encoding/json"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
)

// condition says in words when a condition holds: «s1.status es 200 y s1.body.items
// tiene valor».
func (a arranger) condition(c ref.Condition) render.HTML {
	switch {
	case len(c.All) > 0:
		return a.joined(c.All, "page.when.and")
	case len(c.Any) > 0:
		return a.joined(c.Any, "page.when.or")
	case c.Not != nil:
		return a.fill("page.when.not", "condition", a.condition(*c.Not))
	}
	key := "page.when." + string(c.Is)
	if _, known := locale.Lookup(a.words.tag, key); !known {
		key = "page.when.unknown"
	}
	return a.fill(key, "value", a.named(c.Value), "to", a.comparand(c.To), "is", a.show(string(c.Is)))
}

// joined puts a word between conditions, and brackets around those that are joined
// themselves.
func (a arranger) joined(list []ref.Condition, word string) render.HTML {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = string(a.condition(c))
		if len(c.All) > 0 || len(c.Any) > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return render.HTML(strings.Join(parts, " "+locale.Text(a.words.tag, word)+" ")) //nolint:gosec // made of parts that are HTML
}

// named writes one whole reference without its signs, saying which step it is of;
// any other text as it is.
func (a arranger) named(text string) render.HTML {
	if !ref.Whole(text) {
		return a.show(text)
	}
	p := pen{step: a.origin}
	p.named(text)
	a.card.Marked = a.card.Marked || p.marked
	return p.html()
}

// comparand writes what a value is compared with.
func (a arranger) comparand(raw json.RawMessage) render.HTML {
	var text string
	if json.Unmarshal(raw, &text) == nil && ref.Whole(text) {
		return a.named(text)
	}
	return a.inline(raw)
}

// inline writes a JSON value on one line, whole.
func (a arranger) inline(raw json.RawMessage) render.HTML {
	j := jsonPen{pen: pen{step: a.origin}, flat: true}
	if len(raw) == 0 || j.write(raw) != nil {
		return a.show(string(raw))
	}
	a.card.Marked = a.card.Marked || j.pen.marked
	return j.pen.html()
}

// fill puts parts that are HTML into a sentence of ours.
func (a arranger) fill(key string, pairs ...any) render.HTML {
	return fill(a.words.tag, key, pairs...)
}

func fill(tag locale.Tag, key string, pairs ...any) render.HTML {
	said := make([]string, len(pairs))
	for i, p := range pairs {
		switch p := p.(type) {
		case render.HTML:
			said[i] = string(p)
		case string:
			said[i] = escaped(p)
			if i%2 == 0 {
				said[i] = p
			}
		}
	}
	return render.HTML(locale.Text(tag, key, said...)) //nolint:gosec // sentences of ours, and parts that are HTML
}
