package turn

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

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
	reads    []conversation.Source // of earlier answers, the oldest first
	readFrom []string              // ids of the servers of all reads of these answers
	summary  conversation.Summary  // of what stands before the history
	older    older                 // of the history, what is to be summarised now
	later    bool                  // the user sent another message after the one to answer
	previous conversation.Message  // the stored answer, when the request was retried
}

// loadHistory returns the newest messages of the chat that fit, ending with the current one, and
// its newest runs. Plans and runs reach the model as data and not as the assistant's text,
// because the model would imitate such text; the text beside a proposal is left out for the same
// reason.
func (s *Service) loadHistory(ctx context.Context, req Request, chat conversation.Chat, message conversation.Message) (chatHistory, error) {
	messages, err := s.newestMessages(ctx, req.Principal.Account, chat.ID)
	if err != nil {
		return chatHistory{}, err
	}
	later := slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Role == conversation.RoleUser && m.Seq > message.Seq && intent.Classify(m.Content) == intent.Other
	})
	summary, err := s.summaryOf(ctx, req, chat.ID, messages)
	if err != nil {
		return chatHistory{}, err
	}
	history := []llm.Message{{Role: llm.User, Content: message.Content}}
	var said []conversation.Message
	size := len(message.Content)
	var runIDs []string
	var reads []conversation.Source
	var readFrom []string
	read := 0
	for _, m := range slices.Backward(messages) {
		if m.RunID != "" && !slices.Contains(runIDs, m.RunID) && len(runIDs) < historyRuns {
			runIDs = append(runIDs, m.RunID)
		}
		if m.Seq < message.Seq {
			readFrom = append(readFrom, m.ReadFrom...)
		}
		for _, s := range slices.Backward(m.Sources) {
			concluded := m.Kind == conversation.KindConclusion // its text has what the services of its run answered
			if m.Seq >= message.Seq || s.Answer == "" && s.AnswerHash == "" && !concluded {
				continue
			}
			if readFrom = append(readFrom, s.MCPID); concluded || s.Answer == "" { // of some only the text is here
				continue
			}
			if read += len(s.Answer) + len(s.URL); read <= readBytes {
				reads = append(reads, s)
			}
		}
		own := m.Kind == conversation.KindText && (m.Role == conversation.RoleUser || m.RunID == "") || m.Kind == conversation.KindConclusion
		if !own || m.Seq >= message.Seq || m.Seq <= summary.Until {
			continue
		}
		if size += len(m.Content); size > historyBytes {
			break
		}
		role := llm.Assistant
		if m.Role == conversation.RoleUser {
			role = llm.User
		}
		if len(m.Notes) > 0 && m.Kind != conversation.KindConclusion { // the model would imitate the note's text; the list is reversed below
			history = append(history, llm.Message{Role: llm.System, Content: locale.Text(req.Locale, "prompt.only_text")})
		}
		history, said = append(history, llm.Message{Role: role, Content: m.Content}), append(said, m)
	}
	slices.Reverse(said)
	for _, id := range []string{chat.ActiveRunID, chat.PendingRunID} { // also when newer messages hide them
		if id != "" && !slices.Contains(runIDs, id) {
			runIDs = append(runIDs, id)
		}
	}
	slices.Reverse(history)
	slices.Reverse(runIDs)
	slices.Reverse(reads)
	runs := make([]plan.Run, len(runIDs))
	var loads errgroup.Group
	for i, id := range runIDs {
		loads.Go(func() (err error) { runs[i], err = s.Store.Bare(ctx, req.Principal.Account, id); return })
	}
	return chatHistory{history, runs, reads, append(readFrom, summary.Read...), summary, olderPart(said), later, previousAnswer(messages, req)}, loads.Wait()
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

// newestMessages returns a chat's newest messages. It reads several pages, because the progress
// messages of a long plan fill a page.
func (s *Service) newestMessages(ctx context.Context, account, chatID string) ([]conversation.Message, error) {
	var list []conversation.Message
	cursor, texts := "", 0
	for range historyPages {
		page, next, err := s.Store.Messages(ctx, account, chatID, cursor, historyMessages)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.Kind == conversation.KindText {
				texts++
			}
		}
		list, cursor = append(page, list...), next
		if next == "" || texts >= historyTexts {
			break
		}
	}
	return list, nil
}
