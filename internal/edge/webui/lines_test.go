package webui

import (
	"net/http"
	"strings"
	"testing"

	"piloto/internal/conversation"

	"github.com/chromedp/chromedp"
)

// lineRoutes serves what the script asks about one message.
func (w *world) lineRoutes(locked func(string, func(http.ResponseWriter, *http.Request, map[string]any))) {
	locked("POST /api/chats/{id}/branch", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		from := r.PathValue("id")
		to := w.chats[from]
		to.ID, to.Title = w.ids.New(w.now()), to.Title+" (rama)"
		last, _ := body["message_id"].(string)
		to.BranchedFrom = &conversation.Origin{ChatID: from, MessageID: last}
		w.chats[to.ID] = to
		for _, m := range w.messages[from] {
			if w.messages[to.ID] = append(w.messages[to.ID], m); m.ID == last {
				break
			}
		}
		tell(rw, 201, to)
	})
	locked("PUT /api/messages/{id}/feedback", func(rw http.ResponseWriter, r *http.Request, body map[string]any) {
		list := w.messages[r.URL.Query().Get("chat_id")]
		for i := range list {
			if list[i].ID != r.PathValue("id") {
				continue
			}
			list[i].Feedback = nil
			if rating, ok := body["rating"].(string); ok {
				note, _ := body["note"].(string)
				list[i].Feedback = &conversation.Feedback{Rating: conversation.Rating(rating), Note: note, At: w.now()}
			}
			tell(rw, 200, list[i])
			return
		}
		refuse(rw, 404, "message.not_found", "No existe.")
	})
}

// TestAPlanOfAnotherChatHasNoButtons: it is a text with a link to where it can be decided.
func TestAPlanOfAnotherChatHasNoButtons(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	w.talks("Salas")
	c := w.chats["c1"]
	c.BranchedFrom = &conversation.Origin{ChatID: "c0", MessageID: "m9#answer", Shortened: true}
	w.chats["c1"] = c
	w.messages["c1"] = append(w.messages["c1"], conversation.Message{
		ID: "p1", Seq: "p1", Kind: conversation.KindPlan, Role: conversation.RoleAssistant, FromRunID: "r1", At: noon, Content: "Plan del chat original\n1. Borrar <b>",
		Feedback: &conversation.Feedback{Rating: conversation.Down, Note: "no\u202e <i>", At: noon},
	})
	page := get(t, w.page, "/ui/chats/c1", ana).Body.String()
	for _, want := range []string{`href="/?chat=c0#m-m9%23answer"`, "Lo más antiguo solo está allí.", "Un plan de la conversación original", `<a href="/?chat=c0" data-nav>`, "Borrar &lt;b&gt;", `data-action="rate-down" aria-pressed="true"`, "&lt;i&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s:\n%s", want, page)
		}
	}
	for _, not := range []string{"confirm-run", "data-digest", "\u202e"} {
		if strings.Contains(page, not) {
			t.Errorf("it has %q", not)
		}
	}
	if n := strings.Count(page, `data-action="rate-up"`); n != 2 {
		t.Errorf("%d messages can be rated: those of the assistant", n)
	}
}

// TestAMessageByKeyboard rates an answer, notes why, takes it back, and branches, by the keyboard alone and on a phone.
func TestAMessageByKeyboard(t *testing.T) {
	b := open(t, 390, 844)
	b.talks("Norte")
	press := func(css, keys string) {
		b.until(`(document.querySelector(` + "`" + css + "`" + `)?.focus(), document.activeElement?.matches(` + "`" + css + "`" + `))`)
		b.do(chromedp.KeyEvent(keys))
	}
	b.visit("/?chat=c1")
	b.see("#m-c1m1 [data-action=rate-down]")
	press("#m-c1m1 [data-action=rate-down]", "\r")
	b.until(`document.querySelector("#m-c1m1 [data-action=rate-down]").ariaPressed === "true" && document.activeElement.matches("#m-c1m1 [data-action=rate-down]")`)
	b.until(`document.getElementById("announce").innerText.includes("Valoración guardada.")`)
	press("#m-c1m1 [data-action=rate-note]", "\r")
	b.until(`document.activeElement.id === "ask-input"`)
	b.do(chromedp.KeyEvent("falta el precio"))
	b.picture("note")
	b.do(chromedp.KeyEvent("\r"))
	b.until(`document.querySelector("#m-c1m1 .feedback-note")?.innerText.includes("falta el precio")`)
	b.picture("rated")
	press("#m-c1m1 [data-action=rate-up]", "\r") // the note stays
	b.until(`document.querySelector("#m-c1m1 [data-action=rate-up]").ariaPressed === "true" && document.querySelector("#m-c1m1 .feedback-note")`)
	press("#m-c1m1 [data-action=rate-up]", "\r")
	b.until(`document.querySelectorAll("#m-c1m1 [aria-pressed=true], #m-c1m1 .feedback-note").length === 0`)
	b.mu.Lock()
	feedback := b.messages["c1"][1].Feedback
	b.mu.Unlock()
	if feedback != nil {
		t.Errorf("%+v is left", feedback)
	}

	press(".export > summary", "\r")
	b.until(`document.querySelector(".export[open] a[href*='format=pdf']")?.href.includes("tz=") && !document.querySelector(".export a[href*='json']").href.includes("tz=")`)
	b.picture("export")
	b.do(chromedp.KeyEvent("\x1b"))
	b.until(`!document.querySelector(".export[open]") && document.activeElement.matches(".export > summary")`)

	press("#m-c1m0 [data-action=branch-here]", "\r")
	b.until(`document.querySelectorAll(".line").length === 1 && document.getElementById("view-title").innerText === "Norte (rama)" && document.querySelector('.routed a[href="/?chat=c1#m-c1m0"]')`)
	b.picture("branched")
	b.click(`.routed a`)
	b.until(`document.activeElement.id === "m-c1m0" && document.querySelectorAll(".line").length === 2`)
}
