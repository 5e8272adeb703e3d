package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

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

// The older messages of a long chat are summarised, so that a prompt does not grow with the chat. A turn makes the summary
// for the turns after it, beside its own model call, with a hold and a record of its own. A turn that is done waits for it
// only shortly. Without a summary the messages stay as they are, and a later turn tries again.

// Bounds of a summary.
const (
	summaryWords  = 200
	summaryBytes  = 4 << 10
	summaryOutput = 500 // tokens
	summaryTime   = 15 * time.Second
	summaryGrace  = time.Second // that a turn which is done waits for it
)

// summarise begins to make the summary for later turns, when it is due. The function that it returns ends that.
func (d *dialog) summarise(asking context.Context) (end func()) {
	if len(d.loop.past.Older.Messages) == 0 {
		return func() {}
	}
	calls := d.loop.calls.Apart(d.service.record(d.loop.req, d.loop.chat, credit.SourceSummary))
	sum := &summariser{service: d.service, req: d.loop.req, chat: d.loop.chat, calls: calls, before: d.loop.past.Summary, older: d.loop.past.Older}
	sum.read = d.loop.dataFrom()
	working, cancel := context.WithTimeout(asking, summaryTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sum.make(working)
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

// summariser makes the summary of one chat.
type summariser struct {
	service *Service
	req     Request
	chat    conversation.Chat
	calls   *paid.Calls
	before  conversation.Summary
	older   history.Older
	read    []string // ids of the servers whose data may be in it
}

// make asks the model for the summary, and stores it. A failure leaves the messages as they are.
func (s *summariser) make(ctx context.Context) {
	account := s.req.Principal.Account
	text, err := s.write(ctx)
	s.service.settle(ctx, s.calls, nil, Reply{Kind: KindMessage}, err)
	if text = usableSummary(text); err == nil && text != "" {
		err = s.service.Chats.PutSummary(context.WithoutCancel(ctx), s.chat.Key(account), conversation.Summary{
			Until: s.older.Until, Text: text, Read: s.read, At: s.service.Now(),
		})
	}
	if err != nil || text == "" {
		s.service.Log.WarnContext(ctx, "turn.not_summarised", "chat_id", s.chat.ID, "error", err)
	}
}

// write makes the call, on the model of the turn and on no other.
func (s *summariser) write(ctx context.Context) (string, error) {
	type line struct {
		Who  llm.Role `json:"who"`
		Text string   `json:"text"`
	}
	var lines strings.Builder
	for _, m := range s.older.Messages {
		text, err := json.Marshal(line{m.Role, m.Content}) // no character of it can end a tag
		if err != nil {
			return "", err
		}
		lines.Write(append(text, '\n'))
	}
	prompt, err := locale.Prompt(s.req.Locale, "summary", map[string]any{
		"Before": llm.Escape(s.before.Text), "Lines": strings.TrimSpace(lines.String()), "Words": summaryWords,
	})
	if err != nil {
		return "", err
	}
	use := s.calls.Use
	r := llm.Request{Model: use.Model, Messages: []llm.Message{{Role: llm.User, Content: prompt}}, MaxTokens: min(summaryOutput, use.Estimate.Output)}
	if _, fits := window.Fit(r, use.Window, 0); !fits {
		return "", ask.ErrContextFull
	}
	answer, err := s.calls.Once(ctx, r)
	if err != nil && len(s.calls.Turn.Attempts) > 0 && answer.Usage == (llm.Usage{}) { // it may have been written, and nobody counted it
		s.calls.Count(llm.Usage{Input: r.Estimate(), Output: r.MaxTokens, Estimated: true})
	}
	return answer.Text, err
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
