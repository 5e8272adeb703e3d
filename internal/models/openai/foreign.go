package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"

	"piloto/internal/ground/lazy"
	"piloto/internal/models/llm"
)

// from returns the name of a model of this client that its thoughts carry: it tells nothing of the address.
func (c *Client) from(model string) string {
	sum := sha256.Sum256([]byte(c.base + " " + model))
	return hex.EncodeToString(sum[:8])
}

// hasThoughts reports whether something of a reply is for its model alone.
func hasThoughts(r llm.Reply) bool {
	return r.Thought != "" || len(r.Extra) > 0 || slices.ContainsFunc(r.Calls, func(c llm.Call) bool { return len(c.Extra) > 0 })
}

// ownThoughts returns the messages without what is for other models alone: their thoughts, and signatures that nobody else can
// read. A message that does not say whose they are keeps them.
func ownThoughts(list []llm.Message, from string) []llm.Message {
	isForeign := func(m llm.Message) bool { return m.From != "" && m.From != from }
	if !slices.ContainsFunc(list, isForeign) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		m := &list[i]
		if !isForeign(*m) {
			continue
		}
		m.Thought, m.Extra, m.From = "", nil, ""
		m.Calls = slices.Clone(m.Calls)
		for at := range m.Calls {
			m.Calls[at].Extra = nil
		}
	}
	return list
}

// shortID is what every provider takes as the id of a call: nine letters and digits.
var shortID = lazy.Pattern(`^[a-zA-Z0-9]{9}$`)

// Marks of a refusal of the form of an id: of Mistral, OpenAI and Anthropic.
var (
	idMarks     = []string{"tool call id", "tool_call_id", "tool_use.id", "tool_use_id"}
	ofIDs       = lazy.Pattern(`tool_calls\[\d+\]\.id`)
	idFormMarks = []string{"length", "pattern", "too long", "a-z"}
)

// refusesID reports whether a refusal is about the form of the id of a call, which another model may have given.
func refusesID(words string) bool {
	return (speaks(words, idMarks...) || ofIDs().MatchString(words)) && speaks(words, idFormMarks...)
}

// idOf returns the id of a call as the model takes it. It follows from the id that it stands for.
func (q Quirks) idOf(id string) string {
	if !q.ShortIDs || id == "" || shortID().MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	text := new(big.Int).SetBytes(sum[:]).Text(36)
	return text[:9]
}
