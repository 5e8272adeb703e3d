package webui

import (
	"bytes"
	"encoding/json"
	"reflect"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// block is one part of a tool's result. Text is shown. Other content is described by type, address and size, and is
// not fetched (guarantee I31). A small image is shown from its own bytes.
type block struct {
	Kind  string      // text, image, audio, resource, resource_link, data or other
	Name  render.HTML // a name or an address, as text
	Media render.HTML // a media type
	Bytes int         // size of hidden content; 0 when unknown
	Body  *code       // visible content
	Image string      // the bytes of a small image, as an address (data:)
	Read  *legible    // the content as a person reads it
}

// mostBlocks is the largest number of parts that are shown.
const mostBlocks = 50

// content is a part of a result as defined by the protocol. Omitted is the size of one that was too large to store.
type content struct {
	Type, Text, Data, Blob, Name, Title, URI, MIMEType string

	Omitted  int `json:"omitted_bytes"`
	Resource *content
}

// toolAnswer converts a tool's result; room is the number of bytes that may be shown, and read returns the legible form of a value.
func toolAnswer(r plan.Result, status plan.StepStatus, room int, read func(json.RawMessage) *legible) *answer {
	a := &answer{OK: status == plan.StepDone, Bytes: r.Bytes, Truncated: r.Truncated}
	var result struct {
		Content    []json.RawMessage
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(r.Body, &result) != nil || result.Content == nil && len(result.Structured) == 0 {
		r = r.Shortened(room)
		a.Body, a.Truncated = answerBody(r.Body), r.Truncated
		return a
	}
	w := blockWriter{answer: a, room: room}
	for _, raw := range result.Content {
		w.add(raw, result.Structured)
	}
	if body := w.json(result.Structured); body != nil {
		a.Blocks = append(a.Blocks, block{Kind: "data", Body: body, Read: read(result.Structured)})
	}
	return a
}

// blockWriter adds blocks to an answer while there is room.
type blockWriter struct {
	answer *answer
	room   int
}

// add adds one part. It skips a text that only repeats the structured content.
func (w *blockWriter) add(raw, structured json.RawMessage) {
	if len(w.answer.Blocks) == mostBlocks {
		w.answer.Truncated = true
		return
	}
	var c content
	if json.Unmarshal(raw, &c) != nil {
		w.answer.Blocks = append(w.answer.Blocks, block{Kind: "other", Body: w.json(raw)})
		return
	}
	switch c.Type {
	case "text":
		if !isJSONOf(c.Text, structured) {
			w.answer.Blocks = append(w.answer.Blocks, block{Kind: c.Type, Body: w.text(c.Text)})
		}
	case "image", "audio":
		b := placeholder(c.Type, c)
		if c.Type == "image" {
			b.Image = picture(c.Data)
		}
		w.answer.Blocks = append(w.answer.Blocks, b)
	case "resource_link":
		w.answer.Blocks = append(w.answer.Blocks, placeholder(c.Type, c))
	case "resource":
		if c.Resource == nil {
			c.Resource = &content{}
		}
		b := placeholder(c.Type, *c.Resource)
		if c.Resource.Text != "" {
			b.Body = w.text(c.Resource.Text)
		}
		w.answer.Blocks = append(w.answer.Blocks, b)
	default:
		w.answer.Blocks = append(w.answer.Blocks, block{Kind: "other", Body: w.json(raw)})
	}
}

// longestName is the size in bytes of a name of hidden content.
const longestName = 500

// placeholder returns a block for hidden content.
func placeholder(kind string, c content) block {
	name := c.URI
	if c.Name != "" {
		name = c.Name + " " + c.URI
	}
	size := c.Omitted
	if size == 0 {
		size = (len(c.Data) + len(c.Blob)) / 4 * 3 // base64
	}
	return block{Kind: kind, Name: display(clip.Bytes(name, longestName)), Media: display(clip.Bytes(c.MIMEType, longestName)), Bytes: size}
}

func (w *blockWriter) text(s string) *code {
	raw, _ := json.Marshal(s)
	return w.json(raw)
}

// json shows a value, or its beginning when there is not enough room.
func (w *blockWriter) json(raw json.RawMessage) *code {
	if len(bytes.TrimSpace(raw)) == 0 || w.room <= 0 {
		w.answer.Truncated = w.answer.Truncated || len(raw) > 0
		return nil
	}
	r := plan.Result{Body: raw}.Shortened(w.room)
	w.room -= len(raw)
	w.answer.Truncated = w.answer.Truncated || r.Truncated
	return answerBody(r.Body)
}

// isJSONOf reports whether a text is the JSON of a value.
func isJSONOf(text string, value json.RawMessage) bool {
	if len(value) == 0 || len(text) > 1<<20 || len(value) > 1<<20 {
		return false
	}
	var a, b any
	return json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal(value, &b) == nil && reflect.DeepEqual(a, b)
}
