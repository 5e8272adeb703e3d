package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"piloto/internal/chats/ask"
	"piloto/internal/chats/claim"
	"piloto/internal/chats/history"
	"piloto/internal/chats/window"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/redact"
	"piloto/internal/models/credit"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// What of a chat or a job passes the window of its model is summarised, the oldest first. For a chat a turn makes the summary,
// for the turns after it and beside its own model call; a turn that is done waits for it only shortly. For a job a round
// makes it before its call. Each has a hold and a record of its own. Without a summary the messages stay as they are.

// Bounds of a summary.
const (
	summaryWords  = 400
	summaryBytes  = 6 << 10
	summaryOutput = 1000 // tokens
	summaryTime   = 15 * time.Second
	summaryGrace  = time.Second // that a turn which is done waits for it
	summaryText   = 4000        // characters of a text that is summarised

	fullShare = 0.4 // of the window: what is more is summarised
	keptShare = 0.2 // of the window: what stays as it is
)

// room returns the tokens of the window that a prompt of the chosen model has.
func room(ctx context.Context, calls *paid.Calls) int {
	calls.Narrow(ctx)
	return min(calls.Use.Window, history.MostTokens) - calls.Use.Estimate.Output
}

// tokensOf returns about how many tokens messages have.
func tokensOf(calls *paid.Calls, list []llm.Message) int {
	size := 0
	for _, m := range list {
		size += utf8.RuneCountInString(m.Content)
		for _, c := range m.Calls {
			size += utf8.RuneCountInString(c.Arguments)
		}
	}
	return int(float64(size) / calls.CharsPerToken())
}

// older returns the part of a transcript that has to be summarised: the messages, and the position of the last one. It is
// empty while the transcript has room.
func older(ctx context.Context, past history.Past, calls *paid.Calls) (messages []llm.Message, until string) {
	texts, most := past.Texts, float64(room(ctx, calls))
	if float64(tokensOf(calls, texts)) <= fullShare*most {
		return nil, ""
	}
	for i, e := range past.Exchanges[:max(0, len(past.Exchanges)-1)] {
		next := past.Exchanges[i+1].At
		if messages, until = texts[:next], e.Until; float64(tokensOf(calls, texts[next:])) <= keptShare*most {
			break
		}
	}
	return messages, until
}

// summarise begins to make the summary for later turns, when it is due. The function that it returns ends that.
func (d *dialog) summarise(asking context.Context) (end func()) {
	l := d.loop
	messages, until := older(asking, l.past, l.calls)
	if len(messages) == 0 {
		return func() {}
	}
	calls := l.calls.Apart(d.service.record(l.req, l.chat, credit.SourceSummary))
	read := l.dataFrom()
	working, cancel := context.WithTimeout(asking, summaryTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err := summary(working, calls, l.past.Summary.Text, messages)
		d.service.settle(working, calls, nil, Reply{Kind: KindMessage}, err)
		if err == nil && text != "" {
			err = d.service.Chats.PutSummary(context.WithoutCancel(working), l.chat.Key(l.req.Principal.Account), conversation.Summary{
				Until: until, Text: text, Read: read, At: d.service.Now(),
			})
		}
		if err != nil || text == "" {
			d.service.Log.WarnContext(working, "turn.not_summarised", "chat_id", l.chat.ID, "error", err)
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(summaryGrace):
		}
		cancel()
		<-done
	}
}

// union returns the members of two lists, each once, sorted.
func union(a, b []string) []string {
	list := slices.Concat(a, b)
	slices.Sort(list)
	return slices.Compact(list)
}

// summary asks for the summary of messages after an earlier one, on the model of the calls and on no other. It is "" when
// what the model wrote is no summary.
func summary(ctx context.Context, calls *paid.Calls, before string, messages []llm.Message) (string, error) {
	type line struct {
		Who   llm.Role `json:"who"`
		Text  string   `json:"text,omitempty"`
		Calls []string `json:"calls,omitempty"`
	}
	var lines strings.Builder
	for _, m := range messages {
		one := line{Who: m.Role, Text: clip.Runes(m.Content, summaryText)}
		for _, c := range m.Calls {
			one.Calls = append(one.Calls, c.Name+" "+clip.Runes(c.Arguments, summaryText))
		}
		text, err := json.Marshal(one) // no character of it can end a tag
		if err != nil {
			return "", err
		}
		lines.Write(append(text, '\n'))
	}
	prompt, err := locale.ModelPrompt("summary", map[string]any{
		"Before": llm.Escape(before), "Lines": strings.TrimSpace(lines.String()), "Words": summaryWords,
	})
	if err != nil {
		return "", err
	}
	use := calls.Use
	r := llm.Request{Model: use.Model, Messages: []llm.Message{{Role: llm.User, Content: prompt}}, MaxTokens: min(summaryOutput, use.Estimate.Output)}
	if _, fits := window.Fit(r, use.Window, 0); !fits {
		return "", ask.ErrContextFull
	}
	answer, err := calls.Once(ctx, r)
	if err != nil && len(calls.Turn.Attempts) > 0 && answer.Usage == (llm.Usage{}) { // it may have been written, and nobody counted it
		calls.Count(llm.Usage{Input: r.Estimate(), Output: r.MaxTokens, Estimated: true})
	}
	return usableSummary(answer.Text), err
}

// usableSummary returns a summary as a prompt may have it, at most summaryWords words; "" of one that poses as a plan.
func usableSummary(text string) string {
	text = clip.Bytes(strings.TrimSpace(redact.Text(text)), summaryBytes)
	count := 0
	for i := range text {
		if end := i > 0 && isSpace(text[i]) && !isSpace(text[i-1]); end {
			if count++; count == summaryWords {
				text = text[:i] + "…"
				break
			}
		}
	}
	if claim.Read(text).Asks {
		return ""
	}
	return text
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
