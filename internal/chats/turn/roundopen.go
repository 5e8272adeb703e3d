package turn

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"piloto/internal/chats/job"
	"piloto/internal/chats/reads"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// addCircles notes services whose data the model has read. open gives them their circles.
func (w *work) addCircles(more ...string) {
	for _, c := range more {
		if !slices.Contains(w.job.ReadFrom, c) {
			w.job.ReadFrom = append(w.job.ReadFrom, c)
		}
	}
}

// open reads what a round needs, and writes its prompt.
func (w *work) open(ctx context.Context) error {
	s, j := w.service, w.job
	chat, err := s.Store.Chat(ctx, j.Account, j.ChatID)
	if err != nil {
		return err
	}
	w.chat = chat
	w.chat.Agent = j.Agent // it works, whatever the chat chose
	w.incoming = conversation.Message{
		ID: j.MessageID, Seq: j.MessageID, Role: conversation.RoleUser, Kind: conversation.KindText, Content: j.Prompt, At: j.CreatedAt,
	}
	var snapshot eligibility.Snapshot
	var loads errgroup.Group
	loads.Go(func() (err error) { snapshot, err = s.equip(ctx, w.req, chat, &w.agent, w.equip); return })
	loads.Go(func() (err error) { w.past, err = s.history().Load(ctx, w.req.history(chat, w.incoming)); return })
	if err := loads.Wait(); err != nil {
		return err
	}
	if w.closing {
		snapshot.Budget, snapshot.Need.Output = 0, closingTokens // it is made to fit into what is left of the budget
	}
	if j.Context != "" { // the prompt has names of files of the client's machine
		w.addCircles(job.MachineCircle)
	}
	w.past.ReadFrom = append(w.past.ReadFrom, w.job.ReadFrom...)
	if err := w.prepare(snapshot); err != nil {
		return err
	}
	w.addRounds()
	w.addCircles(w.dataFrom()...)
	w.block = w.query.resolve(w.calls, snapshot)
	return nil
}

// addRounds adds the rounds to the prompt, and what they read to the looks.
func (w *work) addRounds() {
	w.reading.Most = mostJobLooks
	since := 0 // what was read before a plan ended may be read again
	for i, r := range w.rounds {
		if r.RunID != "" {
			since = i + 1
		}
	}
	for i, r := range w.rounds {
		if r.Handled.IsZero() {
			continue
		}
		if r.Eval {
			v, _ := readVerdict(r.Text) // it can be read, because the job went on after it
			w.query.messages = append(w.query.messages, correction(w.req.Locale, v))
			continue
		}
		w.query.messages = append(w.query.messages, llm.Message{Role: llm.Assistant, Content: r.Text, Calls: callsOf(r)})
		switch {
		case r.Doubted:
			w.doubted = r.Text
			w.query.messages = append(w.query.messages, llm.Message{Role: llm.System, Content: locale.Text(w.req.Locale, "prompt.reconsider")})
		case r.RunID != "": // what it says of that is looked at anew
			w.doubted = ""
		}
		for k, call := range r.Calls {
			w.query.messages = append(w.query.messages, llm.Message{Role: llm.ToolRole, CallID: call.ID, Content: r.Results[k]})
			if w.clientSpec(call.Name) != nil { // it was done on the client's machine
				w.addDone(r, k)
			}
		}
		for _, l := range r.Looks {
			sum := l.Call
			if i < since {
				sum = ""
			}
			w.reading.Resume(sum, l.Source, w.readText(l.Source))
			w.past.Reads = append(w.past.Reads, l.Source)
		}
	}
}

// readText returns the function that reads the lines of the answer of an earlier round.
func (w *work) readText(of conversation.Source) func() ([]string, error) {
	return func() ([]string, error) {
		if !of.Cut {
			return strings.Split(of.Answer, "\n"), nil
		}
		text, err := w.service.Jobs.Text(context.Background(), w.job.Account, w.job.ID, of.ID)
		return reads.Break(strings.Split(text, "\n")), err // texts were kept with long lines
	}
}
