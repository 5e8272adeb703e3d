// Package history reads a chat for the prompt of its next answer: the newest texts, the runs, the reads of earlier
// answers, the summary of the rest, and the outcome of each plan.
package history

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/evidence"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// Bounds of the chat history in the prompt.
const (
	PageMessages = 60 // that are read at once
	mostPages    = 6
	mostTexts    = 20 // no further page is read from this number on
	mostBytes    = 64 << 10
	mostRuns     = 3
	readBytes    = 24 << 10 // of the answers of earlier reads
)

// Bounds of a summary.
const (
	SummarisedAfter = 8 // exchanges of the history that are not summarised
	summaryKeeps    = 4 // of them, the newest stay as they are
)

// Chats reads the messages and the summaries of chats.
type Chats interface {
	conversation.MessageReader
	// Summary returns the summary of a chat, at a time; the zero Summary when there is none.
	Summary(ctx context.Context, key conversation.Key, at time.Time) (conversation.Summary, error)
}

// Runs reads the runs of plans.
type Runs interface {
	plan.BareReader
	plan.StatusReader
}

// Reader reads the histories of chats.
type Reader struct {
	Chats Chats
	Runs  Runs
	Now   func() time.Time
}

// Of says which history is read.
type Of struct {
	Account   ids.Account
	Chat      conversation.Chat
	Message   conversation.Message // that is to be answered
	RequestID string               // id of the message of a request that may be retried; "": none
	Again     bool                 // it has an answer, which is no part of the history
	Locale    locale.Tag
}

// Past is the history of a chat before a message.
type Past struct {
	Texts    []llm.Message         // the last one is the message to answer
	Runs     []plan.Run            // the newest ones, the oldest first
	Named    []string              // ids of the runs that the newest messages name, the newest first
	Reads    []conversation.Source // of earlier answers, the oldest first
	ReadFrom []string              // ids of the servers of all reads of these answers
	Summary  conversation.Summary  // of the texts before these
	Older    Older                 // of the texts, the part that is to be summarised now
	Longer   bool                  // the chat has older messages, too
	Later    bool                  // the user sent another message after the one to answer
	Previous conversation.Message  // the stored answer, when the request was retried
}

// Older is the part of a chat's history that is to be summarised.
type Older struct {
	Until    string // position of its last message
	Messages []llm.Message
}

// Load returns the newest messages of the chat that fit, ending with the current one, and its newest runs. Plans and
// runs reach the model as data and not as the assistant's text, because the model would imitate such text. Its text
// beside a plan is its own.
func (r Reader) Load(ctx context.Context, of Of) (Past, error) {
	messages, older, err := r.Pages(ctx, of.Chat.Key(of.Account))
	if err != nil {
		return Past{}, err
	}
	if of.Again { // the answer that is replaced is no part of the prompt
		messages = slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.Seq > of.Message.Seq })
	}
	h := Past{Previous: Answer(messages, of.RequestID), Longer: older}
	h.Later = slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Role == conversation.RoleUser && m.Seq > of.Message.Seq && intent.Classify(m.Content) == intent.Other && !consent.MayAgree(m.Content)
	})
	if h.Summary, err = r.summaryOf(ctx, of, messages); err != nil {
		return Past{}, err
	}
	h.Named = evidence.Named(messages)
	texts, messages := h.textsBefore(of.Message, messages)
	h.addReads(messages, of.Message)
	if h.Runs, err = r.runsOf(ctx, of, messages); err != nil {
		return h, err
	}
	said, err := r.withFates(ctx, of.Account, texts, messages, h.Runs)
	h.write(of.Locale, said, of.Message)
	return h, err
}

// textsBefore returns the texts of a chat before a message, the oldest first, as far as they fit and are not summarised. It
// also returns the messages from the first one that does not fit, or all.
func (h *Past) textsBefore(message conversation.Message, messages []conversation.Message) (texts, newest []conversation.Message) {
	size := len(message.Content)
	for i, m := range slices.Backward(messages) {
		isText := m.Kind == conversation.KindText || m.Kind == conversation.KindConclusion
		if !isText || m.Seq >= message.Seq || m.Seq <= h.Summary.Until {
			continue
		}
		if size += len(m.Content); size > mostBytes {
			messages = messages[i:]
			break
		}
		texts = append(texts, m)
	}
	slices.Reverse(texts)
	return texts, messages
}

// write writes the texts and the message to answer as the prompt has them. Our lines about a text stand after it, as the system's.
func (h *Past) write(tag locale.Tag, said []saidText, message conversation.Message) {
	for _, m := range said {
		h.Texts = append(h.Texts, llm.Message{Role: roleOf(m.Message), Content: m.Content})
		if len(m.Notes) > 0 && m.Kind != conversation.KindConclusion { // the model would imitate the note's text
			h.Texts = append(h.Texts, llm.Message{Role: llm.System, Content: locale.Text(tag, "prompt.only_text")})
		}
		if line := m.line(tag); line != "" {
			h.Texts = append(h.Texts, llm.Message{Role: llm.System, Content: line})
		}
	}
	h.Texts = append(h.Texts, llm.Message{Role: llm.User, Content: message.Content})
	h.Older = olderPart(tag, said)
}

// addReads adds the reads of the answers before a message, as far as they fit, and the servers whose data may be in these
// answers.
func (h *Past) addReads(messages []conversation.Message, message conversation.Message) {
	size := 0
	for _, m := range slices.Backward(messages) {
		if m.Seq >= message.Seq {
			continue
		}
		h.ReadFrom = append(h.ReadFrom, m.ReadFrom...)
		for _, s := range slices.Backward(m.Sources) {
			concluded := m.Kind == conversation.KindConclusion // its text has the answers of the services of its run
			if s.Answer == "" && s.AnswerHash == "" && !concluded {
				continue
			}
			if h.ReadFrom = append(h.ReadFrom, s.MCPID); concluded || s.Answer == "" { // of some only the text is here
				continue
			}
			if size += len(s.Answer) + len(s.URL); size <= readBytes {
				h.Reads = append(h.Reads, s)
			}
		}
	}
	slices.Reverse(h.Reads)
	h.ReadFrom = append(h.ReadFrom, h.Summary.Read...)
}

// runsOf reads the newest runs that messages name, the oldest first, and those that go on or wait in the chat.
func (r Reader) runsOf(ctx context.Context, of Of, messages []conversation.Message) ([]plan.Run, error) {
	var ids []string
	for _, m := range slices.Backward(messages) {
		if m.RunID != "" && !slices.Contains(ids, m.RunID) && len(ids) < mostRuns {
			ids = append(ids, m.RunID)
		}
	}
	for _, id := range []string{of.Chat.ActiveRunID, of.Chat.PendingRunID} { // also when newer messages hide them
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	runs := make([]plan.Run, len(ids))
	var loads errgroup.Group
	for i, id := range ids {
		loads.Go(func() (err error) { runs[i], err = r.Runs.Bare(ctx, of.Account, id); return })
	}
	return runs, loads.Wait()
}

// summaryOf returns the summary of a chat that is long enough to have one.
func (r Reader) summaryOf(ctx context.Context, of Of, messages []conversation.Message) (conversation.Summary, error) {
	texts := 0
	for _, m := range messages {
		if m.Kind == conversation.KindText && m.Role == conversation.RoleUser {
			texts++
		}
	}
	if texts <= SummarisedAfter {
		return conversation.Summary{}, nil
	}
	return r.Chats.Summary(ctx, of.Chat.Key(of.Account), r.Now())
}

// Standing drops the messages that others replaced.
func Standing(messages []conversation.Message) []conversation.Message {
	return slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.ReplacedBy != "" })
}

// Newest returns a chat's newest messages, without those that others replaced. It reads several pages, because the progress
// messages of a long plan fill a page.
func (r Reader) Newest(ctx context.Context, k conversation.Key) ([]conversation.Message, error) {
	list, _, err := r.Pages(ctx, k)
	return list, err
}

// Pages returns the newest messages, and whether the chat has older ones.
func (r Reader) Pages(ctx context.Context, k conversation.Key) (list []conversation.Message, older bool, err error) {
	cursor, texts := "", 0
	for range mostPages {
		page, next, err := r.Chats.Messages(ctx, k, cursor, PageMessages)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if m.Kind == conversation.KindText && m.ReplacedBy == "" {
				texts++
			}
		}
		list, cursor = append(Standing(page), list...), next
		if next == "" || texts >= mostTexts {
			break
		}
	}
	return list, cursor != "", nil
}

// olderPart returns the messages that a turn has to summarise; none until the history has grown by summaryKeeps
// exchanges, so that a summary that failed is not tried at every turn. said is the history, the oldest first, without
// the message to answer.
func olderPart(tag locale.Tag, said []saidText) Older {
	var begins []int // of the exchanges
	for i, m := range said {
		if m.Role == conversation.RoleUser && (i == 0 || said[i-1].Role != conversation.RoleUser) {
			begins = append(begins, i)
		}
	}
	n := len(begins)
	if n <= SummarisedAfter || n%summaryKeeps != 1 {
		return Older{}
	}
	part := said[:begins[n-summaryKeeps]]
	o := Older{Until: part[len(part)-1].Seq}
	for _, m := range part {
		o.Messages = append(o.Messages, llm.Message{Role: roleOf(m.Message), Content: m.Content})
		if m.fate != "" && m.fate.resolved() { // a summary is not written again
			o.Messages = append(o.Messages, llm.Message{Role: llm.System, Content: m.line(tag)})
		}
	}
	return o
}

// Answer returns the stored answer to a request that was retried, or the zero Message. requestID is the id of its message. The
// process that served the first attempt may have ended after it stored the answer and before it responded.
func Answer(messages []conversation.Message, requestID string) conversation.Message {
	for _, m := range messages {
		if requestID != "" && m.ID == conversation.AnswerID(requestID) {
			return m
		}
	}
	return conversation.Message{}
}
