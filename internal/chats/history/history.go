// Package history reads a chat for the prompt of its next answer: a transcript of what was said, called and done, the summary
// of what is before it, and the runs and reads that stand in it.
package history

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/evidence"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// Bounds of the chat history in the prompt.
const (
	PageMessages = 60 // that are read at once
	laterPage    = 240
	mostPages    = 20
	mostTexts    = 20 // of the newest messages, no further page is read from this number of texts on
	mostNewest   = 6  // pages of the newest messages
	MostTokens   = 100_000
	mostBytes    = MostTokens * 7 / 2 // of the transcript
	mostRuns     = 60
	runsAtOnce   = 8
	shortBytes   = 6000 // a chat that has less was never summarised
)

// Chats reads the messages and the summaries of chats.
type Chats interface {
	conversation.MessageReader
	// Summary returns the summary of a chat, at a time; the zero Summary when there is none.
	Summary(ctx context.Context, key conversation.Key, at time.Time) (conversation.Summary, error)
}

// Reader reads the histories of chats.
type Reader struct {
	Chats Chats
	Runs  Runs
	Now   func() time.Time
}

// Runs reads runs, with and without their large results.
type Runs interface {
	plan.BareReader
	plan.Reader
	plan.ResultReader
}

// Of says which history is read.
type Of struct {
	Account   ids.Account
	Chat      conversation.Chat
	Message   conversation.Message // that is to be answered; without an id: none is
	RequestID string               // id of the message of a request that may be retried; "": none
	RunID     string               // the run whose end is told at the end of it; "": none
	JobID     string               // the job whose prompt it is: its own plans are results of its calls; "": none
	Again     bool                 // it has an answer, which is no part of the history
}

// Past is the history of a chat before a message.
type Past struct {
	Texts     []llm.Message          // the transcript; the last one is the message to answer
	Messages  []conversation.Message // of which it is the transcript
	Exchanges []Exchange             // where each exchange of it begins, the oldest first
	Runs      []plan.Run             // that stand in it, or wait or go on, the oldest first
	Named     []string               // ids of the runs that the newest messages name, the newest first
	Reads     []conversation.Source  // of earlier answers, the oldest first
	ReadFrom  []string               // ids of the servers of all reads of these answers
	Edited    []string               // ids of the runs whose plan a person changed
	Summary   conversation.Summary   // of the messages before these
	Longer    bool                   // the chat has older messages, too
	Later     bool                   // the user sent another message after the one to answer
	Previous  conversation.Message   // the stored answer, when the request was retried
}

// Exchange is a message of the person in a transcript, and what followed it.
type Exchange struct {
	At    int    // index of its first text
	Until string // position of its last message in the chat
}

// Load returns the newest messages of the chat that fit, ending with the current one, and their runs.
func (r Reader) Load(ctx context.Context, of Of) (Past, error) {
	var h Past
	key := of.Chat.Key(of.Account)
	messages, older, err := r.walk(ctx, key, func(list []conversation.Message, more bool) (bool, error) {
		size := sizeOf(list)
		if h.Summary.Until == "" && (more || size > shortBytes) {
			var err error
			if h.Summary, err = r.Chats.Summary(ctx, key, r.Now()); err != nil {
				return false, err
			}
		}
		return size > mostBytes || len(list) > 0 && list[0].Seq <= h.Summary.Until, nil
	}, mostPages)
	if err != nil {
		return Past{}, err
	}
	if of.Again { // the answer that is replaced is no part of the prompt
		messages = slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.Seq > of.Message.Seq })
	}
	h.Previous, h.Longer = Answer(messages, of.RequestID), older
	h.Later = slices.ContainsFunc(messages, func(m conversation.Message) bool {
		return m.Role == conversation.RoleUser && m.Seq > of.Message.Seq && intent.Classify(m.Content) == intent.Other && !consent.MayAgree(m.Content)
	})
	h.Named = evidence.Named(messages)
	before := slices.DeleteFunc(messages, func(m conversation.Message) bool { return of.Message.Seq != "" && m.Seq >= of.Message.Seq })
	shown := newest(slices.DeleteFunc(before, func(m conversation.Message) bool { return m.Seq <= h.Summary.Until }))
	h.Longer, h.Messages = h.Longer || len(shown) < len(before), shown
	h.addReads(shown)
	runs, err := r.runsOf(ctx, of, shown)
	if err != nil {
		return h, err
	}
	copied, err := r.copiedOf(ctx, of, shown)
	if err != nil {
		return h, err
	}
	for _, c := range copied {
		h.ReadFrom = append(h.ReadFrom, c.DataFrom()...)
	}
	h.Runs = runs
	w := writer{now: r.Now(), jobID: of.JobID, runs: runs, copied: copied}
	if err = w.write(shown, of.Message); err == nil {
		err = w.ended(of.RunID)
	}
	h.Texts, h.Exchanges, h.Edited = w.list, w.exchanges, w.edited
	return h, err
}

// newest returns the newest of some messages that fit, from a message of a person on.
func newest(messages []conversation.Message) []conversation.Message {
	size, from := 0, len(messages)
	runs := map[string]bool{}
	for i, m := range slices.Backward(messages) {
		if id := planOf(m); id != "" {
			runs[id] = true
		}
		if size += sizeOf(messages[i : i+1]); size > mostBytes || len(runs) > mostRuns {
			return messages[from:]
		}
		if m.Role == conversation.RoleUser {
			from = i
		}
	}
	return messages
}

// sizeOf returns about how many bytes messages have in a prompt.
func sizeOf(list []conversation.Message) (size int) {
	for _, m := range list {
		size += len(m.Content)
		for _, s := range m.Sources {
			size += len(s.Answer)
		}
		if m.Transcript == nil {
			continue
		}
		size += len(m.Transcript.Now)
		for _, r := range m.Transcript.Rounds {
			size += len(r.Thought) + len(r.Extra)
			for _, c := range r.Calls {
				size += len(c.Arguments) + len(c.Result) + len(c.Extra)
			}
		}
	}
	return size
}

// addReads adds the reads of answers, and the servers whose data may be in these answers.
func (h *Past) addReads(messages []conversation.Message) {
	for _, m := range slices.Backward(messages) {
		h.ReadFrom = append(h.ReadFrom, m.ReadFrom...)
		for _, s := range slices.Backward(m.Sources) {
			concluded := m.Kind == conversation.KindConclusion // its text has the answers of the services of its run
			if s.Answer == "" && s.AnswerHash == "" && !concluded {
				continue
			}
			if h.ReadFrom = append(h.ReadFrom, s.MCPID); concluded || s.Answer == "" { // of some only the text is here
				continue
			}
			h.Reads = append(h.Reads, s)
		}
	}
	slices.Reverse(h.Reads)
	h.ReadFrom = append(h.ReadFrom, h.Summary.Read...)
}

// runsOf reads the runs that messages name, the oldest first, and those that go on or wait in the chat.
func (r Reader) runsOf(ctx context.Context, of Of, messages []conversation.Message) ([]plan.Run, error) {
	var ids []string
	for _, m := range messages {
		if m.RunID != "" && !slices.Contains(ids, m.RunID) {
			ids = append(ids, m.RunID)
		}
	}
	for _, id := range []string{of.RunID, of.Chat.ActiveRunID, of.Chat.PendingRunID} { // also when newer messages hide them
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return r.read(ctx, of, ids)
}

// copiedOf reads the runs of the chat from which this one was copied, as its messages name them.
func (r Reader) copiedOf(ctx context.Context, of Of, messages []conversation.Message) ([]plan.Run, error) {
	var ids []string
	for _, m := range messages {
		if m.FromRunID != "" && !slices.Contains(ids, m.FromRunID) {
			ids = append(ids, m.FromRunID)
		}
	}
	return r.read(ctx, of, ids)
}

// read reads runs, without those that were deleted.
func (r Reader) read(ctx context.Context, of Of, ids []string) ([]plan.Run, error) {
	runs := make([]plan.Run, len(ids))
	var loads errgroup.Group
	loads.SetLimit(runsAtOnce)
	for i, id := range ids {
		loads.Go(func() (err error) {
			if runs[i], err = r.Runs.Bare(ctx, of.Account, id); err == nil && slices.ContainsFunc(runs[i].Steps, isNear) {
				runs[i], err = r.Runs.Run(ctx, of.Account, id)
			}
			if errors.Is(err, plan.ErrRunNotFound) {
				runs[i], err = plan.Run{}, nil
			}
			return err
		})
	}
	err := loads.Wait()
	runs = slices.DeleteFunc(runs, func(r plan.Run) bool { return r.ID == "" })
	left := wholeBytes
	for i := range slices.Backward(runs) { // the same in each prompt, as long as there is room
		runs[i] = r.whole(ctx, runs[i], &left)
	}
	return runs, err
}

// wholeBytes bounds the results that are stored apart and read for one history.
const wholeBytes = 4 << 20

// whole returns a run that ended with its results that are stored apart, as far as there is room for them. One that cannot be read
// stays as it begins.
func (r Reader) whole(ctx context.Context, of plan.Run, left *int) plan.Run {
	if !of.Status.Terminal() {
		return of
	}
	of.Steps = slices.Clone(of.Steps)
	for i, st := range of.Steps {
		if st.Result == nil || st.Result.Apart == 0 || st.Result.Bytes > *left {
			continue
		}
		*left -= st.Result.Bytes
		if res, err := r.Runs.Whole(ctx, of, st.StepID, *st.Result); err == nil {
			of.Steps[i].Result = &res
		}
	}
	return of
}

// isNear reports whether the result of an effect is stored beside its run.
func isNear(st plan.StepState) bool { return st.Result != nil && st.Result.Near }

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
	return r.walk(ctx, k, func(list []conversation.Message, _ bool) (bool, error) {
		texts := 0
		for _, m := range list {
			if m.Kind == conversation.KindText {
				texts++
			}
		}
		return texts >= mostTexts, nil
	}, mostNewest)
}

// walk reads the newest messages of a chat, page by page, until enough says that these do. more says that there are older ones.
func (r Reader) walk(ctx context.Context, k conversation.Key, enough func(list []conversation.Message, more bool) (bool, error), pages int) (list []conversation.Message, older bool, err error) {
	cursor, limit := "", PageMessages
	for range pages {
		page, next, err := r.Chats.Messages(ctx, k, cursor, limit)
		if err != nil {
			return nil, false, err
		}
		list, cursor, limit = append(Standing(page), list...), next, laterPage
		done, err := enough(list, next != "")
		if err != nil {
			return nil, false, err
		}
		if next == "" || done {
			break
		}
	}
	return list, cursor != "", nil
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
