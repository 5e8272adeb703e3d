package turn

import (
	"context"
	"slices"
	"strings"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
)

func (s *Service) evidence() evidence.Chats { return evidence.Chats{Store: s.Store, Now: s.Now} }

// waits reports whether a draft waits in the chat now, other than one that this answer ends.
func (d *dialog) waits(ctx context.Context) (bool, error) {
	ends := ""
	if d.req.anew != nil && d.req.anew.draft != nil {
		ends = d.req.anew.draft.ID
	}
	return d.service.evidence().Waits(ctx, conversation.Key{Account: d.req.Principal.Account, ChatID: d.chat.ID}, ends)
}

// lacking returns those of the acts that a text claims which the record of the chat lacks.
func (d *dialog) lacking(ctx context.Context, acts []claim.Act) ([]claim.Act, error) {
	f := evidence.Facts{Account: d.req.Principal.Account, ChatID: d.chat.ID, Named: d.past.Named, Done: d.done, Longer: d.past.Longer, Message: d.incoming}
	f.Commands, f.Machine, f.Read = d.commands, d.job != nil && len(d.job.Tools) > 0, d.reported
	f.Told = []string{d.persona, d.project.Context, d.workspace(), d.chat.Summary}
	for _, s := range slices.Concat(d.sources, d.past.Reads) {
		f.Read = append(f.Read, s.Answer)
	}
	for _, m := range d.past.Texts {
		if m.Role == llm.User && len(claim.Orders(m.Content)) == 0 {
			f.Told = append(f.Told, m.Content)
		}
	}
	return d.service.evidence().Lacking(ctx, f, acts)
}

// mostSaid bounds the acts that a note names.
const mostSaid = 3

// notDone returns the note about acts that the record lacks; none: no note.
func (r Request) notDone(acts []claim.Act) []conversation.Note {
	var said []string
	for _, a := range acts {
		if word := "«" + a.Verb + "»"; !slices.Contains(said, word) && len(said) < mostSaid {
			said = append(said, word)
		}
	}
	if said == nil {
		return nil
	}
	return []conversation.Note{r.note(conversation.NoteNothingDone, "note.nothing_done", "acts", strings.Join(said, ", "))}
}
