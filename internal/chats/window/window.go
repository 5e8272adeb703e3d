// Package window fits a conversation into the context window of a model: it drops the oldest parts, and says so when
// even the mandatory parts are too large. It knows nothing of chats, so a turn and a longer loop use it alike.
//
// Invariants: Fit never drops the system messages that begin a request, the first message of the person, the message
// that is answered (with the system message directly before it), or a call without all of its results. A call and its
// results stay or go together. Kept messages keep their order.
package window

import (
	"slices"

	"piloto/internal/models/llm"
)

// Fit returns the messages of a request that fit into a window of so many tokens, together with the longest answer. It
// drops the messages before index answered first, the oldest exchange first, then the rounds after it, the oldest first.
// It reports false, and returns only the mandatory messages, when these alone are too large.
func Fit(r llm.Request, tokens, answered int) ([]llm.Message, bool) {
	room := tokens - r.MaxTokens
	if room >= r.MostTokens() {
		return r.Messages, true
	}
	if room -= r.Estimate(); room >= 0 {
		return r.Messages, true
	}
	var kept []llm.Message
	for _, p := range partsOf(r.Messages, answered) {
		if room < 0 && !p.stays {
			for _, m := range p.messages {
				room += m.Estimate()
			}
			continue
		}
		kept = append(kept, p.messages...)
	}
	return kept, room >= 0
}

// part is a run of messages that stay or go together.
type part struct {
	messages []llm.Message
	stays    bool
}

// partsOf cuts a conversation into its parts: the beginning, exchanges, the message that is answered, and rounds.
func partsOf(all []llm.Message, answered int) []part {
	begin := 0
	for begin < len(all) && all[begin].Role == llm.System {
		begin++
	}
	answered = min(max(answered, begin), len(all)-1)
	first := slices.IndexFunc(all, func(m llm.Message) bool { return m.Role == llm.User })
	now := answered // the system message directly before the message belongs to it
	if now > begin && all[now-1].Role == llm.System {
		now--
	}
	list := []part{{all[:begin], true}}
	for i := begin; i < len(all); {
		end := i + 1
		switch {
		case i == first && i < now:
		case i >= now && i <= answered:
			end = answered + 1
		default:
			limit := len(all)
			if i < now {
				limit = now
			}
			end = endOf(all, i, limit)
		}
		list = append(list, part{all[i:end], i == first || i >= now && i <= answered || waits(all[i:end])})
		i = end
	}
	return list
}

// endOf returns the end of the exchange or the round that begins at i: before the next message of the person, and before
// the next message of the model with calls or after a result.
func endOf(all []llm.Message, i, limit int) int {
	for end := i + 1; end < limit; end++ {
		m, before := all[end], all[end-1]
		if m.Role == llm.User || m.Role == llm.Assistant && (len(m.Calls) > 0 || before.Role == llm.ToolRole) {
			return end
		}
	}
	return limit
}

// waits reports whether a call of the messages has no result.
func waits(list []llm.Message) bool {
	return slices.ContainsFunc(list, func(m llm.Message) bool {
		return slices.ContainsFunc(m.Calls, func(c llm.Call) bool {
			return !slices.ContainsFunc(list, func(r llm.Message) bool { return r.Role == llm.ToolRole && r.CallID == c.ID })
		})
	})
}
