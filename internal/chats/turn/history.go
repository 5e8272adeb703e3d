package turn

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/evidence"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// Bounds of the chat history in the prompt.
const (
	historyMessages = 60 // per page
	historyPages    = 6
	historyTexts    = 20 // no further page is read from this number on
	historyBytes    = 64 << 10
	historyRuns     = 3
	resultBytes     = 6 << 10  // of each step's answer
	outcomeBytes    = 48 << 10 // of all answers together
	pathBytes       = 512      // of each step's path
	draftBytes      = 32 << 10 // of a draft in the prompt that the model may change
	readBytes       = 24 << 10 // of the answers of earlier reads
)

// turnData holds the data that a conversation needs for its answer.
type turnData struct {
	chatHistory
	watched bool // a client has the page open
	project conversation.Project
	listed  []tool.Listed
	rules   rule.Set
}

// chatHistory holds the messages and the newest runs of a chat.
type chatHistory struct {
	history  []llm.Message
	runs     []plan.Run
	named    []string              // ids of the runs that the newest messages name, the newest first
	reads    []conversation.Source // of earlier answers, the oldest first
	readFrom []string              // ids of the servers of all reads of these answers
	summary  conversation.Summary  // of what stands before the history
	older    older                 // of the history, what is to be summarised now
	longer   bool                  // the chat has older messages, too
	later    bool                  // the user sent another message after the one to answer
	previous conversation.Message  // the stored answer, when the request was retried
}

// loadHistory returns the newest messages of the chat that fit, ending with the current one, and
// its newest runs. Plans and runs reach the model as data and not as the assistant's text,
// because the model would imitate such text. What it said beside a plan is its own text.
func (s *Service) loadHistory(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) (chatHistory, error) {
	messages, older, err := s.newestPages(ctx, req.Principal.Account, chat.ID)
	if err != nil {
		return chatHistory{}, err
	}
	if req.Again { // the answer that is replaced is no part of the prompt
		messages = slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.Seq > message.Seq })
	}
	h := chatHistory{previous: previousAnswer(messages, req), longer: older}
	h.later = slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Role == conversation.RoleUser && m.Seq > message.Seq && intent.Classify(m.Content) == intent.Other && !consent.MayAgree(m.Content)
	})
	if h.summary, err = s.summaryOf(ctx, req, chat.ID, messages); err != nil {
		return chatHistory{}, err
	}
	h.named = evidence.Named(messages)
	texts, messages := h.textsBefore(message, messages)
	h.addReads(messages, message)
	if h.runs, err = s.runsOf(ctx, req.Principal.Account, chat, messages); err != nil {
		return h, err
	}
	said, err := s.withFates(ctx, req.Principal.Account, texts, messages, h.runs)
	h.write(req.Locale, said, message)
	return h, err
}

// textsBefore returns the texts of a chat before a message, the oldest first, as far as they fit and are not summarised. It
// also returns the messages from the first one that does not fit, or all.
func (h *chatHistory) textsBefore(message conversation.Message, messages []conversation.Message) (texts, newest []conversation.Message) {
	size := len(message.Content)
	for i, m := range slices.Backward(messages) {
		isText := m.Kind == conversation.KindText || m.Kind == conversation.KindConclusion
		if !isText || m.Seq >= message.Seq || m.Seq <= h.summary.Until {
			continue
		}
		if size += len(m.Content); size > historyBytes {
			messages = messages[i:]
			break
		}
		texts = append(texts, m)
	}
	slices.Reverse(texts)
	return texts, messages
}

// write writes the texts and the message to answer as the prompt has them. What we say of a text stands after it, as the
// system's.
func (h *chatHistory) write(tag locale.Tag, said []saidText, message conversation.Message) {
	for _, m := range said {
		h.history = append(h.history, llm.Message{Role: roleOf(m.Message), Content: m.Content})
		if len(m.Notes) > 0 && m.Kind != conversation.KindConclusion { // the model would imitate the note's text
			h.history = append(h.history, llm.Message{Role: llm.System, Content: locale.Text(tag, "prompt.only_text")})
		}
		if line := m.line(tag); line != "" {
			h.history = append(h.history, llm.Message{Role: llm.System, Content: line})
		}
	}
	h.history = append(h.history, llm.Message{Role: llm.User, Content: message.Content})
	h.older = olderPart(tag, said)
}

// addReads adds the reads of the answers before a message, as far as they fit, and the servers whose data may be in these
// answers.
func (h *chatHistory) addReads(messages []conversation.Message, message conversation.Message) {
	size := 0
	for _, m := range slices.Backward(messages) {
		if m.Seq >= message.Seq {
			continue
		}
		h.readFrom = append(h.readFrom, m.ReadFrom...)
		for _, s := range slices.Backward(m.Sources) {
			concluded := m.Kind == conversation.KindConclusion // its text has what the services of its run answered
			if s.Answer == "" && s.AnswerHash == "" && !concluded {
				continue
			}
			if h.readFrom = append(h.readFrom, s.MCPID); concluded || s.Answer == "" { // of some only the text is here
				continue
			}
			if size += len(s.Answer) + len(s.URL); size <= readBytes {
				h.reads = append(h.reads, s)
			}
		}
	}
	slices.Reverse(h.reads)
	h.readFrom = append(h.readFrom, h.summary.Read...)
}

// runsOf reads the newest runs that messages name, the oldest first, and those that go on or wait in the chat.
func (s *Service) runsOf(ctx context.Context, account string, chat conversation.Chat, messages []conversation.Message) ([]plan.Run, error) {
	var ids []string
	for _, m := range slices.Backward(messages) {
		if m.RunID != "" && !slices.Contains(ids, m.RunID) && len(ids) < historyRuns {
			ids = append(ids, m.RunID)
		}
	}
	for _, id := range []string{chat.ActiveRunID, chat.PendingRunID} { // also when newer messages hide them
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	runs := make([]plan.Run, len(ids))
	var loads errgroup.Group
	for i, id := range ids {
		loads.Go(func() (err error) { runs[i], err = s.Store.Bare(ctx, account, id); return })
	}
	return runs, loads.Wait()
}

// summaryOf returns the summary of a chat that is long enough to have one.
func (s *Service) summaryOf(ctx context.Context, req Request, chatID string, messages []conversation.Message) (conversation.Summary, error) {
	texts := 0
	for _, m := range messages {
		if m.Kind == conversation.KindText && m.Role == conversation.RoleUser {
			texts++
		}
	}
	if texts <= summaryAfter {
		return conversation.Summary{}, nil
	}
	return s.Store.Summary(ctx, req.Principal.Account, chatID, s.Now())
}

// standing drops the messages that others replaced.
func standing(messages []conversation.Message) []conversation.Message {
	return slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.ReplacedBy != "" })
}

// newestMessages returns a chat's newest messages, without those that others replaced. It reads several pages, because the progress
// messages of a long plan fill a page.
func (s *Service) newestMessages(ctx context.Context, account, chatID string) ([]conversation.Message, error) {
	list, _, err := s.newestPages(ctx, account, chatID)
	return list, err
}

// newestPages returns the newest messages, and whether the chat has older ones.
func (s *Service) newestPages(ctx context.Context, account, chatID string) (list []conversation.Message, older bool, err error) {
	cursor, texts := "", 0
	for range historyPages {
		page, next, err := s.Store.Messages(ctx, account, chatID, cursor, historyMessages)
		if err != nil {
			return nil, false, err
		}
		for _, m := range page {
			if m.Kind == conversation.KindText && m.ReplacedBy == "" {
				texts++
			}
		}
		list, cursor = append(standing(page), list...), next
		if next == "" || texts >= historyTexts {
			break
		}
	}
	return list, cursor != "", nil
}
