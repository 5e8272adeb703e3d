package turn

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"piloto/internal/chats/beside"
	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// cardOf returns a run's plan as a person sees it: the values that are sent, and their names in the documents and the reads.
func cardOf(r plan.Run) (card consent.Card) {
	card.Titled = []string{r.Plan.Goal}
	bindings, labels := map[plan.EffectID]plan.Binding{}, map[plan.EffectID][]string{}
	for _, b := range r.Plan.Bindings {
		bindings[b.StepID] = b
	}
	for _, t := range r.Taken {
		labels[t.StepID] = append(labels[t.StepID], labelled(t.Where[strings.LastIndex(t.Where, ".")+1:], t.Label))
	}
	for _, s := range r.Plan.Steps {
		b := bindings[s.ID]
		act := consent.Act{Method: s.Method, Path: cmp.Or(b.Template, s.Path), Tool: s.Tool, Summary: b.Summary, Named: []string{b.ServerName}, Each: s.ForEach != ""}
		for _, n := range b.Names {
			act.Named = append(act.Named, n.Label)
		}
		act.Sent = append(act.Sent, s.Path, string(s.Query), string(s.Headers), string(s.Body))
		act.Sent = append(act.Sent, labels[s.ID]...)
		for _, target := range s.Targets {
			act.Sent = append(act.Sent, labelled("name", target.Label))
		}
		card.Acts, card.Titled = append(card.Acts, act), append(card.Titled, s.Title)
	}
	return card
}

// labelled returns a read's label of a value, as the member that is sent.
func labelled(member, label string) string {
	text, _ := json.Marshal(map[string]string{member: label})
	return string(text)
}

// read returns the meaning of a request's message for the draft, if there is one.
func (st chatState) read(req Request, meaning intent.Intent) consent.Yes {
	switch {
	case st.runConfirmedBy(req) != nil:
		return consent.Yes{Meaning: intent.Confirm}
	case st.draft != nil:
		return consent.Read(req.Message, cardOf(*st.draft))
	}
	return consent.Yes{Meaning: meaning}
}

// cardIsLast reports whether the draft's card was the last message when the user wrote, or a text of the model that asks for its
// confirmation, and for nothing else.
func (st chatState) cardIsLast(req Request) bool {
	after, shownAt, shown := st.card()
	if !shown || req.sentBefore(shownAt) {
		return false
	}
	if after == 0 {
		return true
	}
	last := st.messages[len(st.messages)-1]
	return last.Role == conversation.RoleAssistant && last.Kind == conversation.KindText && !last.Asks && !req.sentBefore(last.At) &&
		beside.AsksForIt(last.Content, cardOf(*st.draft))
}

// asksElse reports whether a text of the model beside the draft's cards or since may have asked for the yes.
// Texts beside an earlier revision are answered: the person wrote, and the plan changed.
func (st chatState) asksElse(yes consent.Yes) bool {
	of := cardOf(*st.draft)
	since, _, _ := st.card()
	for i, m := range st.messages {
		relevant := m.RunID == st.draft.ID && !m.At.Before(st.draft.UpdatedAt) || m.Role == conversation.RoleAssistant && i >= len(st.messages)-since
		if relevant && m.Kind == conversation.KindText && beside.AsksElse(m.Content, yes, of) {
			return true
		}
	}
	return false
}

// titlesAskElse reports the same of the plan's goal and its titles.
func (st chatState) titlesAskElse(yes consent.Yes) bool {
	p, of := st.draft.Plan, cardOf(*st.draft)
	return beside.TitleAsksElse(p.Goal, yes, of) || slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return beside.TitleAsksElse(s.Title, yes, of) })
}
