package turn

import (
	"context"
	"slices"
	"strings"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
)

// mostSaid bounds the acts that a note names.
const mostSaid = 3

// checker compares what the texts of a model claim with the record of their chat.
type checker struct {
	evidence evidence.Chats
	req      Request
	chat     conversation.Key
	ends     string                                        // id of a draft that the answer ends, and that waits no longer
	facts    func(context.Context) (evidence.Facts, error) // a claim is compared with them; read when there is one
}

func (s *Service) evidence() evidence.Chats {
	return evidence.Chats{Chats: s.Chats, Runs: s.Plans, Now: s.Now}
}

func (s *Service) checker(req Request, chat conversation.Chat, ends string, facts func(context.Context) (evidence.Facts, error)) checker {
	return checker{s.evidence(), req, chat.Key(req.Principal.Account), ends, facts}
}

// notes returns the notes beside a text: it asks for a confirmation although no plan waits, or it claims an act that the record
// does not have.
func (c checker) notes(ctx context.Context, said claim.Reading) ([]conversation.Note, error) {
	var list []conversation.Note
	if said.Asks {
		waits, err := c.evidence.Waits(ctx, c.chat, c.ends)
		if err != nil {
			return nil, err
		}
		if !waits {
			list = append(list, c.req.nothingPending())
		}
	}
	lacking, err := c.lacking(ctx, said.Acts)
	return append(list, c.req.notDone(lacking)...), err
}

// pretends reports whether a text announces an act without its call, or claims an act that the record does not have.
func (c checker) pretends(ctx context.Context, chat conversation.Chat, text string) bool {
	said := claim.Read(text)
	if chat.PendingRunID == "" && said.Poses() {
		return true
	}
	lacking, err := c.lacking(ctx, said.Acts)
	return err == nil && len(lacking) > 0
}

// lacking returns those of some acts that the record does not have.
func (c checker) lacking(ctx context.Context, acts []claim.Act) ([]claim.Act, error) {
	if len(acts) == 0 {
		return nil, nil
	}
	f, err := c.facts(ctx)
	if err != nil {
		return nil, err
	}
	f.Account, f.ChatID = c.chat.Account, c.chat.ChatID
	return c.evidence.Lacking(ctx, f, acts)
}

// withoutOptions returns the claims of a question: it asks for no confirmation, and its options are possible answers of the person.
func withoutOptions(question string) claim.Reading {
	return claim.Reading{Acts: claim.Read(question).Acts}
}

// note returns a note in the language of the request.
func (r Request) note(code, key string, args ...any) conversation.Note {
	return conversation.Note{Code: code, Text: locale.Say(key, args...).In(r.Locale)}
}

// nothingPending returns the note about a text that asks for a confirmation although no plan waits.
func (r Request) nothingPending() conversation.Note {
	return r.note(conversation.NoteNothingPending, "note.nothing_pending")
}

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
