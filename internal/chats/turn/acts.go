package turn

import (
	"slices"

	"piloto/internal/chats/claim"
	"piloto/internal/chats/evidence"
	"piloto/internal/models/llm"
)

// facts returns what the claims of this turn are compared with, besides the runs of the chat.
func (d *dialog) facts() evidence.Facts {
	f := evidence.Facts{
		Named: d.past.Named, Longer: d.past.Longer, Message: d.incoming, Done: d.done, Commands: d.commands, Read: d.reported,
		Machine: d.job != nil && len(d.job.Tools) > 0, Told: []string{d.persona, d.project.Context, d.workspace(), d.chat.Summary},
	}
	for _, s := range slices.Concat(d.sources, d.past.Reads) {
		f.Read = append(f.Read, s.Answer)
	}
	for _, m := range d.past.Texts {
		if m.Role == llm.User && len(claim.Orders(m.Content)) == 0 {
			f.Told = append(f.Told, m.Content)
		}
	}
	return f
}
