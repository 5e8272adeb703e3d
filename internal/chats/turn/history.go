package turn

import (
	"context"
	"slices"

	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/parallel"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// What of a chat the model is shown, at most.
const (
	historyMessages = 60 // of a page
	historyPages    = 6
	historyTexts    = 20 // from which on no further page is read
	historyBytes    = 24 << 10
	historyRuns     = 3
	resultBytes     = 6 << 10  // of each step's answer
	outcomeBytes    = 48 << 10 // of all answers together
	pathBytes       = 512      // of each step's path
	draftBytes      = 32 << 10 // of a draft that the model may change
)

// gathered is what the model needs to answer.
type gathered struct {
	talk
	watched bool // somebody has the page open
	project conversation.Project
	listed  []tool.Listed
	rules   rule.Set
}

// talk is what was said and done in a chat.
type talk struct {
	history []llm.Message
	runs    []plan.Run
	later   bool                 // the person went on after what is to be answered
	known   conversation.Message // what answered it before, of a request that came again
}

// loadTalk returns the chat's conversation, the newest that fits, ending with
// what was just said; and its newest runs. What a plan or a run was is told as
// data and not as the assistant's words, which the model would imitate; nor are the
// words that stood beside a proposal.
func (s *Service) loadTalk(ctx context.Context, req Request, chat conversation.Chat, said conversation.Message) (talk, error) {
	messages, err := s.newest(ctx, req.Principal.Account, chat.ID)
	if err != nil {
		return talk{}, err
	}
	later := slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Role == conversation.RoleUser && m.Seq > said.Seq && intent.Classify(m.Content) == intent.Other
	})
	history := []llm.Message{{Role: llm.User, Content: said.Content}}
	size := len(said.Content)
	var runIDs []string
	for _, m := range slices.Backward(messages) {
		if m.RunID != "" && !slices.Contains(runIDs, m.RunID) && len(runIDs) < historyRuns {
			runIDs = append(runIDs, m.RunID)
		}
		if m.Kind != conversation.KindText || m.Seq >= said.Seq || m.Role != conversation.RoleUser && m.RunID != "" {
			continue
		}
		if size += len(m.Content); size > historyBytes {
			break
		}
		role := llm.Assistant
		if m.Role == conversation.RoleUser {
			role = llm.User
		}
		if len(m.Notes) > 0 { // it would be imitated; the list is turned around below
			history = append(history, llm.Message{Role: llm.System, Content: locale.Text(req.Locale, "prompt.only_text")})
		}
		history = append(history, llm.Message{Role: role, Content: m.Content})
	}
	for _, id := range []string{chat.ActiveRunID, chat.PendingRunID} { // whatever was said since
		if id != "" && !slices.Contains(runIDs, id) {
			runIDs = append(runIDs, id)
		}
	}
	slices.Reverse(history)
	slices.Reverse(runIDs)
	runs := make([]plan.Run, len(runIDs))
	reads := make([]func() error, len(runIDs))
	for i, id := range runIDs {
		reads[i] = func() (err error) { runs[i], err = s.Store.Run(ctx, req.Principal.Account, id); return }
	}
	return talk{history, runs, later, answerTo(messages, req)}, parallel.Do(reads...)
}

// newest returns a chat's newest messages, with what was said among them: a long
// plan says more on its way than a page holds.
func (s *Service) newest(ctx context.Context, account, chatID string) ([]conversation.Message, error) {
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
