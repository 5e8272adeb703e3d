package webui

import (
	"encoding/json"
	"strings"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
)

// condition returns a condition in words: «s1.status es 200 y s1.body.items tiene valor».
func (w pen) condition(c ref.Condition) render.HTML {
	switch {
	case len(c.All) > 0:
		return w.join(c.All, "page.when.and")
	case len(c.Any) > 0:
		return w.join(c.Any, "page.when.or")
	case c.Not != nil:
		return w.fill("page.when.not", "condition", w.condition(*c.Not))
	}
	key := "page.when." + string(c.Is)
	if _, known := locale.Lookup(w.words.tag, key); !known {
		key = "page.when.unknown"
	}
	return w.fill(key, "value", w.reference(c.Value), "to", w.comparand(c.To), "is", w.show(string(c.Is)))
}

// join joins conditions with a word, with parentheses around those that are joined themselves.
func (w pen) join(list []ref.Condition, word string) render.HTML {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = string(w.condition(c))
		if len(c.All) > 0 || len(c.Any) > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return render.HTML(strings.Join(parts, " "+locale.Text(w.words.tag, word)+" ")) //nolint:gosec // made of parts that are HTML
}

// reference writes a whole reference without its signs, with the step that it refers to. It shows any other text
// unchanged.
func (w pen) reference(text string) render.HTML {
	if !ref.Whole(text) {
		return w.show(text)
	}
	p := visibleWriter{step: w.origin}
	p.bareReference(text)
	*w.marked = *w.marked || p.marked
	return p.html()
}

// comparand returns the value on the right side of a comparison.
func (w pen) comparand(raw json.RawMessage) render.HTML {
	var text string
	if json.Unmarshal(raw, &text) == nil && ref.Whole(text) {
		return w.reference(text)
	}
	return w.inline(raw)
}

// inline writes a complete JSON value on one line.
func (w pen) inline(raw json.RawMessage) render.HTML {
	j := jsonWriter{pen: visibleWriter{step: w.origin}, flat: true}
	if len(raw) == 0 || j.write(raw) != nil {
		return w.show(string(raw))
	}
	*w.marked = *w.marked || j.pen.marked
	return j.pen.html()
}

// fill inserts parts that are HTML into a text of the catalogue.
func (w pen) fill(key string, pairs ...any) render.HTML {
	return fill(w.words.tag, key, pairs...)
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
