package turn

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// open reads the data for a round, and writes its prompt.
func (w *work) open(ctx context.Context) error {
	s, j := w.service, w.job
	chat, err := s.Chats.Chat(ctx, j.Account, j.ChatID)
	if err != nil {
		return err
	}
	w.loop.chat = chat
	w.loop.chat.Agent = j.Agent // it works, independent of the chat's choice
	w.loop.incoming = conversation.Message{
		ID: j.MessageID, Seq: j.MessageID, Role: conversation.RoleUser, Kind: conversation.KindText, Content: j.Prompt, At: j.CreatedAt,
	}
	w.loop.terms.changes = w.job.Changes
	var snapshot eligibility.Snapshot
	var loads errgroup.Group
	loads.Go(func() (err error) {
		snapshot, err = s.equip(ctx, w.loop.req, chat, &w.loop.agent, w.loop.equip)
		return
	})
	loads.Go(func() (err error) {
		of := w.loop.req.history(chat, w.loop.incoming)
		of.JobID = j.ID
		w.loop.past, err = s.history().Load(ctx, of)
		return
	})
	if err := loads.Wait(); err != nil {
		return err
	}
	if w.loop.files.Lost {
		w.job.Changes = job.Changes{}
	}
	if w.closing {
		snapshot.Budget, snapshot.Need.Output = 0, closingTokens // it is made to fit into the rest of the budget
	}
	if j.Context != "" { // the prompt has names of files of the client's machine
		w.rows.addReadFrom(job.MachineZone)
	}
	w.loop.past.ReadFrom = append(w.loop.past.ReadFrom, w.job.ReadFrom...)
	clock, renewed := "", false
	if len(w.rows.rounds) > 0 {
		texts := append(slices.Clone(w.loop.past.Texts), llm.Message{Role: llm.System, Content: w.rows.rounds[0].Now})
		clock = locale.ModelText("prompt.clock", "now", brief.Now(s.Now(), zone(w.loop.req, texts, snapshot.Assistant)))
		renewed = w.rows.renewClock(clock)
		w.loop.trail.now = w.rows.rounds[0].Now
	}
	if err := w.loop.prepare(snapshot); err != nil {
		return err
	}
	w.addRounds()
	w.rows.addReadFrom(w.loop.dataFrom()...)
	w.journal.block = w.loop.query.Resolve(w.loop.calls, snapshot)
	if err := w.summarise(ctx); err != nil {
		return err
	}
	if len(w.rows.rounds) == 0 || w.rows.isAnswered() { // the first round reads them in its state
		return nil
	}
	var news []string
	if !renewed && w.service.Now().Sub(w.rows.clockAt()) >= clockEvery {
		news = append(news, clock)
	}
	if w.loop.files.Lost {
		news = append(news, locale.ModelText("prompt.changes_lost"))
	}
	if text := strings.Join(news, "\n"); text != "" {
		w.journal.now = strings.TrimSpace(w.journal.now + "\n" + text)
		w.loop.query.Messages = append(w.loop.query.Messages, llm.Message{Role: llm.System, Content: text})
	}
	return nil
}

// clockEvery is how old the clock in the prompt of a job may be.
const clockEvery = 5 * time.Minute

// clockAt returns the time of the newest clock in the prompt.
func (jr *jobRows) clockAt() (at time.Time) {
	for _, r := range jr.rounds {
		if r.N == 1 || r.N > jr.job.Summed && told().MatchString(r.Now) {
			at = r.Asked
		}
	}
	return at
}

// renewClock sets the clock of a round that is asked again, because its answer was lost. It reports false when it has none.
func (jr *jobRows) renewClock(clock string) bool {
	last := jr.last()
	if !last.Answered.IsZero() || !told().MatchString(last.Now) {
		return false
	}
	_, rest, _ := strings.Cut(last.Now, ".")
	last.Now = clock + rest
	return true
}

// addRounds adds the rounds to the prompt, and their reads and deeds to the loop's.
func (w *work) addRounds() {
	w.loop.reading.Most = mostJobReads
	since := 0 // reads before a plan ended may be made again
	for i, r := range w.rows.rounds {
		if r.RunID != "" {
			since = i + 1
		}
	}
	for i, r := range w.rows.rounds {
		w.journal.now = ""
		if r.Answered.IsZero() { // it is asked again, with its news
			w.journal.now = r.Now
		}
		if r.Handled.IsZero() || r.Eval {
			continue
		}
		switch {
		case r.Doubted:
			w.loop.doubted = r.Text
		case r.RunID != "": // its text about that is checked anew
			w.loop.doubted = ""
		}
		for k, call := range r.Calls {
			if w.loop.terms.clientSpec(call.Name) != nil { // it was done on the client's machine
				w.addDone(r, k)
			}
		}
		for _, l := range r.Reads {
			sum := l.Call
			if i < since {
				sum = ""
			}
			w.loop.reading.Resume(sum, l.Source, w.rows.readText(l.Source))
			w.loop.past.Reads = append(w.loop.past.Reads, l.Source)
		}
	}
	w.loop.query.Messages = append(w.loop.query.Messages, w.rows.messages()...)
}
