package history

import (
	"fmt"
	"testing"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
)

// TestASummaryHasWhatBecameOfAPlan: unless that may change, because a summary is not written again.
func TestASummaryHasWhatBecameOfAPlan(t *testing.T) {
	for f, told := range map[fate]bool{"": false, fateActive: false, fate(plan.Draft): false, fateWithdrawn: true, fateRefused: true, fate(plan.Done): true} {
		var said []saidText
		for i := range SummarisedAfter + 1 {
			said = append(said,
				saidText{Message: conversation.Message{Seq: fmt.Sprint(i), Role: conversation.RoleUser, Content: "pide"}},
				saidText{Message: conversation.Message{Seq: fmt.Sprint(i), Role: conversation.RoleAssistant, Content: "dice"}, fate: f})
		}
		lines := 0
		for _, m := range olderPart(locale.Spanish, said).Messages {
			if m.Role == llm.System && m.Content == f.line(locale.Spanish) {
				lines++
			}
		}
		if want := SummarisedAfter + 1 - summaryKeeps; lines != 0 && !told || lines != want && told {
			t.Errorf("%q: %d lines", f, lines)
		}
	}
}

// TestEveryFateHasItsLine: in both languages.
func TestEveryFateHasItsLine(t *testing.T) {
	list := []fate{fateRefused, fateStopped, fateWithdrawn, fateActive, fateDeleted, fateCopied}
	for _, s := range plan.Statuses() {
		if !s.Active() && s != plan.Cancelled {
			list = append(list, fate(s))
		}
	}
	for _, f := range list {
		for _, tag := range locale.Tags() {
			if !locale.Exists("prompt.beside."+string(f)) || f.line(tag) == "" {
				t.Errorf("%s has no line", f)
			}
		}
	}
}
