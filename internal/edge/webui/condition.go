package webui

import (
	"encoding/json"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
)

// condition returns a condition in words: «s1.status es 200 y s1.body.items tiene valor».
func (a cardBuilder) condition(c ref.Condition) render.HTML {
	switch {
	case len(c.All) > 0:
		return a.join(c.All, "page.when.and")
	case len(c.Any) > 0:
		return a.join(c.Any, "page.when.or")
	case c.Not != nil:
		return a.fill("page.when.not", "condition", a.condition(*c.Not))
	}
	key := "page.when." + string(c.Is)
	if _, known := locale.Lookup(a.words.tag, key); !known {
		key = "page.when.unknown"
	}
	return a.fill(key, "value", a.reference(c.Value), "to", a.comparand(c.To), "is", a.show(string(c.Is)))
}

// join joins conditions with a word, with parentheses around those that are joined themselves.
func (a cardBuilder) join(list []ref.Condition, word string) render.HTML {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = string(a.condition(c))
		if len(c.All) > 0 || len(c.Any) > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return render.HTML(strings.Join(parts, " "+locale.Text(a.words.tag, word)+" ")) //nolint:gosec // made of parts that are HTML
}

// reference writes a whole reference without its signs, with the step that it refers to. It shows any other text
// unchanged.
func (a cardBuilder) reference(text string) render.HTML {
	if !ref.Whole(text) {
		return a.show(text)
	}
	p := visibleWriter{step: a.origin}
	p.bareReference(text)
	a.card.Marked = a.card.Marked || p.marked
	return p.html()
}

// comparand returns the value on the right side of a comparison.
func (a cardBuilder) comparand(raw json.RawMessage) render.HTML {
	var text string
	if json.Unmarshal(raw, &text) == nil && ref.Whole(text) {
		return a.reference(text)
	}
	return a.inline(raw)
}

// inline writes a complete JSON value on one line.
func (a cardBuilder) inline(raw json.RawMessage) render.HTML {
	j := jsonWriter{pen: visibleWriter{step: a.origin}, flat: true}
	if len(raw) == 0 || j.write(raw) != nil {
		return a.show(string(raw))
	}
	a.card.Marked = a.card.Marked || j.pen.marked
	return j.pen.html()
}

// fill inserts parts that are HTML into a text of the catalogue.
func (a cardBuilder) fill(key string, pairs ...any) render.HTML {
	return fill(a.words.tag, key, pairs...)
}

func fill(tag locale.Tag, key string, pairs ...any) render.HTML {
	said := make([]string, len(pairs))
	for i, p := range pairs {
		switch p := p.(type) {
		case render.HTML:
			said[i] = string(p)
		case string:
			said[i] = escapeHTML(p)
			if i%2 == 0 {
				said[i] = p
			}
		}
	}
	return render.HTML(locale.Text(tag, key, said...)) //nolint:gosec // texts of the catalogue, and parts that are HTML
}
