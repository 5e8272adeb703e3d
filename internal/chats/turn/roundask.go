package turn

import (
	"context"
	"errors"
	"strconv"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
)

// pose puts the question of a round into the chat, and notes in the chat that the job asks. It may be repeated: the
// message's id and position are derived from the round. The chat keeps the note of who asked, because a message that the
// job took before its process died, and that comes once more, is known by the job alone. It reports false, and poses
// nothing, while another job asks in the chat, because the next message could not answer both.
func (w *work) pose(ctx context.Context, r *job.Round, q *inquiry) (bool, error) {
	s, j, before := w.service, w.job, w.loop.chat.AskingJobID
	if before != "" && before != j.ID {
		other, err := s.Jobs.Job(ctx, j.Account, before)
		if err != nil && !errors.Is(err, job.ErrNotFound) || err == nil && other.AsksPerson() {
			return false, err
		}
	}
	notes, err := w.loop.checker().notes(ctx, withoutOptions(q.text))
	if err != nil {
		return false, err
	}
	if err := s.Chats.SetAsking(ctx, j.Chat(), before, j.ID); err != nil {
		if errors.Is(err, fault.ErrMoved) { // another job began to ask
			err = nil
		}
		return false, err
	}
	id := ids.DeriveAt(r.Answered.Add(time.Millisecond), "job", j.ID, "question", strconv.Itoa(r.N))
	m := conversation.Message{
		ID: id, Seq: id, Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: q.content(), JobID: j.ID, At: r.Answered, ReadFrom: j.ReadFrom,
		By: &conversation.By{Agent: j.Agent, Provider: r.Provider, Model: r.Model}, Notes: notes,
	}
	q.mark(&m)
	w.job.Notes = notes
	err = retry.Do(ctx, func() error { return s.Chats.AddMessages(ctx, j.Chat(), "", r.Answered, m) })
	return err == nil, err
}
