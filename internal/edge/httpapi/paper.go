package httpapi

import (
	"fmt"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/locale"
)

// Printer writes a document as a PDF file.
type Printer func(conversation.Paper) ([]byte, error)

// paper returns the export as a document. A message that another one replaced is left out, and a plan has its steps.
func (e ChatExport) paper(tag locale.Tag, zone *time.Location, now time.Time) conversation.Paper {
	p := conversation.Paper{Lang: string(tag), Title: e.title(), At: now, Notes: []string{locale.Text(tag, "run.export.made", "at", clock(now, zone))}}
	if e.Truncated {
		p.Notes = append(p.Notes, locale.Text(tag, "run.export.truncated"))
	}
	for _, m := range wire.Read(e.Messages) {
		if m.ReplacedBy != "" {
			continue
		}
		entry := conversation.PaperEntry{Author: locale.Text(tag, "run.export."+string(m.Role)), Time: clock(m.At, zone), Text: strings.TrimSpace(m.Content)}
		switch m.Kind {
		case conversation.KindText, conversation.KindConclusion:
			entry.Markdown = m.Role == conversation.RoleAssistant
		case conversation.KindPlan:
			entry.Text = strings.TrimSpace(locale.Text(tag, "run.export.plan") + "\n" + m.Steps())
		default:
			entry.Text = strings.TrimLeft(entry.Text, "⏳✅❌⚠️❓🛑 ") // no face has them
		}
		above, below := m.SplitNotes()
		for _, n := range above {
			entry.Above = append(entry.Above, n.Warning().In(tag))
		}
		if m.Action != "" {
			entry.Notes = append(entry.Notes, m.Action)
		}
		for _, n := range below {
			entry.Notes = append(entry.Notes, n.Text)
		}
		for _, s := range m.Sources {
			entry.Notes = append(entry.Notes, fmt.Sprintf("%s: %s (%d)", s.Service, s.Called(), s.Status))
		}
		if m.Feedback != nil {
			entry.Notes = append(entry.Notes, rated(*m.Feedback, tag))
		}
		p.Entries = append(p.Entries, entry)
	}
	return p
}
