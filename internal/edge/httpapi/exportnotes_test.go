package httpapi

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"

	"piloto/internal/conversation"
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/locale"
)

// TestNoTextHidesItsNotes: what stands above and beneath an answer is read as such, whatever the answer leaves open, and so
// are the next messages.
func TestNoTextHidesItsNotes(t *testing.T) {
	for _, content := range []string{
		"```", "```sh\nls", "hecho\n~~~~\nls\n~~~", "````\n```\n", "   ```js\nx", "```\na\n```\n```b", "- uno\n- dos", "> cita", "| a |\n|---|\n| b |",
		"`", "**", "```\nls\n```", "~~~ `a`\nls", "``` `a`\nls", "    ```\n    ls", "[a]: b", "- ```\n  ls", "a\\",
	} {
		e := ChatExport{Messages: []wire.Message{
			{Role: conversation.RoleAssistant, Content: content, Notes: []conversation.Note{{Code: conversation.NoteCost, Text: "Ha costado."}, {Code: conversation.NoteNothingDone, Text: "Nada hecho."}}},
			{Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Content: "Faltan créditos.", Action: "Añade créditos."},
		}}
		var html bytes.Buffer
		if err := goldmark.Convert(e.markdown(locale.Spanish, time.UTC), &html); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"<p><em>Ha costado.</em></p>", "<strong>Aviso: Nada hecho.</strong>", "<p>Faltan créditos.</p>", "<p><em>Añade créditos.</em></p>"} {
			if !strings.Contains(html.String(), want) {
				t.Errorf("%q hides %q:\n%s", content, want, html.String())
			}
		}
	}
}
