package turn

import (
	"slices"
	"strings"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// prompt writes the beginning of every prompt of a chat. It is the same in all turns while the settings are, because a
// provider reuses its cache for a prompt that begins as an earlier one: now has the rest.
func (l *loop) prompt() (string, error) {
	shown, total := l.listed, brief.Count(l.listed)
	if total <= brief.Whole {
		total = 0 // it is listed whole
	} else {
		shown = brief.Servers(shown)
	}
	acting, err := l.agent.section(l.query.Tools)
	if err != nil {
		return "", err
	}
	var client []string
	for _, t := range l.terms.clientTools(l.agent) {
		client = append(client, t.Name)
	}
	return locale.ModelPrompt("turn", map[string]any{
		"Persona":   llm.Escape(l.persona),
		"Agent":     acting,
		"Project":   llm.Escape(l.project.Context),
		"Workspace": llm.Escape(l.terms.workspace),
		"Session":   llm.Escape(l.chat.Summary),
		"Catalogue": brief.Catalogue(shown),
		"Total":     total,
		"Named":     brief.HasNamedTools(l.listed),
		"Look":      mayRead(l.listed) && l.agent.MayUse(toolset.Look),
		"Asks":      slices.ContainsFunc(l.query.Tools, func(t llm.Tool) bool { return t.Name == toolset.Ask }),
		"Files":     l.files.Offered,
		"Writes":    l.files.Offered && l.files.MayWrite(),
		"Client":    strings.Join(client, ", "),
	})
}

// now writes the state of this turn: the time, who writes, the draft that waits, the plans that go on, the files, and the best
// matches of a large catalogue. It stands before the person's message, and stays there in later prompts. What an earlier
// one has in the same words is not said again.
func (l *loop) now(assistant *eligibility.Assistant) (string, error) {
	active := slices.DeleteFunc(slices.Clone(l.past.Runs), func(r plan.Run) bool { return !r.Status.Active() })
	runs, err := brief.Runs(active, l.service.Now())
	if err != nil {
		return "", err
	}
	waiting := draftIn(l.past.Runs, l.chat)
	runID := ""
	if waiting != nil {
		runID = waiting.ID
	}
	draft, err := proposal.Encode(l.pending)
	if err != nil {
		return "", err
	}
	revises := draft != ""
	if proposedIn(l.past, l.pending) {
		draft = ""
	}
	lost := ""
	if l.files.Lost {
		lost = locale.ModelText("prompt.changes_lost")
	}
	known := l.files.Offered && !l.files.Down
	return locale.ModelPrompt("now", map[string]any{
		"Today":   brief.Now(l.service.Now(), zone(l.req, l.past.Texts, assistant)),
		"Who":     unsaidWho(l.past.Texts, l.who()),
		"Matches": unsaid(l.past.Texts, "matches", brief.Catalogue(brief.Best(l.listed, l.req.Message))),
		"Runs":    runs,
		"Draft":   unsaid(l.past.Texts, "draft", draft),
		"Revises": revises,
		"Team":    l.req.Route != nil,
		"Yes":     locale.ModelText("prompt.yes." + string(l.req.Locale)),
		"RunID":   runID,
		"Doubts":  brief.Doubts(l.pending, l.req.Locale),
		"Pending": brief.Goal(waiting, l.service.Now()),
		"Files":   unsaid(l.past.Texts, "files", orNone(l.past.Texts, "files", l.files.Tree.Names, known)),
		"Guide":   unsaid(l.past.Texts, "guide", orNone(l.past.Texts, "guide", l.files.Tree.Guide, known)),
		"Unread":  l.files.Down,
		"Lost":    lost,

		"Withdraws": l.offers(toolset.Withdraw),
	})
}

// unsaidWho returns who writes, or "" when the newest state in the transcript that says it says the same.
func unsaidWho(texts []llm.Message, who string) string {
	for _, m := range slices.Backward(texts) {
		if m.Role != llm.System || !strings.HasPrefix(m.Content, "Now: ") {
			continue
		}
		line, _, _ := strings.Cut(m.Content, "\n")
		if _, said, ok := strings.Cut(line, ". "); ok && said != "" {
			if said == who {
				return ""
			}
			break
		}
	}
	return who
}

// unsaid returns a text, or "" when the newest text between the same tags in the transcript is equal to it.
func unsaid(texts []llm.Message, tag, text string) string {
	if newest(texts, tag) == text {
		return ""
	}
	return text
}

// newest returns the newest text between tags in the transcript; "" when there is none.
func newest(texts []llm.Message, tag string) string {
	for _, m := range slices.Backward(texts) {
		if _, rest, ok := strings.Cut(m.Content, "<"+tag+">\n"); ok && m.Role == llm.System {
			said, _, _ := strings.Cut(rest, "\n</"+tag+">")
			return said
		}
	}
	return ""
}

// orNone returns a text about the files for between tags. Where it is empty, known to be so, and was not before, it says that.
func orNone(texts []llm.Message, tag, text string, known bool) string {
	if text == "" && known && newest(texts, tag) != "" {
		return "(there are none any more)"
	}
	return llm.Escape(text)
}
