package turn

import (
	"slices"
	"strings"

	"piloto/internal/chats/brief"
	"piloto/internal/chats/proposal"
	"piloto/internal/chats/toolset"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// prompt writes the beginning of every prompt of a chat. It is the same in all turns, because a provider reuses its
// cache for a prompt that begins as an earlier one: now has the rest.
func (l *loop) prompt() (string, error) {
	shown, total := l.listed, brief.Count(l.listed)
	if total <= brief.Whole {
		total = 0 // it is listed whole
	} else {
		shown = brief.Servers(shown)
	}
	acting, err := l.agent.section(l.req.Locale, l.query.Tools)
	if err != nil {
		return "", err
	}
	return locale.Prompt(l.req.Locale, "turn", map[string]any{
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
	})
}

// now writes the state of this turn: the time, the draft that waits, the reads and the runs, the files, and the best
// matches of a large catalogue. It stands before the person's message.
func (l *loop) now() (string, error) {
	ended := slices.DeleteFunc(slices.Clone(l.past.Runs), func(r plan.Run) bool {
		return l.pending != nil && r.ID == l.pending.ID || l.terms.jobID != "" && r.JobID == l.terms.jobID // those are results of its calls
	})
	runs, err := brief.Runs(ended, l.service.Now())
	if err != nil {
		return "", err
	}
	runID := ""
	if l.pending != nil {
		runID = l.pending.ID
	}
	draft, err := proposal.Encode(l.pending)
	if err != nil {
		return "", err
	}
	return locale.Prompt(l.req.Locale, "now", map[string]any{
		"Today":   brief.Today(l.req.Locale, l.service.Now()),
		"Matches": brief.Catalogue(brief.Best(l.listed, l.req.Message)),
		"Reads":   brief.Reads(l.past.Reads),
		"Runs":    strings.TrimSpace(runs),
		"Draft":   draft,
		"RunID":   runID,
		"Doubts":  brief.Doubts(l.pending, l.req.Locale),
		"Pending": brief.Goal(draftIn(l.past.Runs, l.chat), l.service.Now()),
		"Files":   llm.Escape(l.files.Tree),
		"Unread":  l.files.Down,
		"Lost":    l.files.Lost,

		"Withdraws": l.offers(toolset.Withdraw),
	})
}
