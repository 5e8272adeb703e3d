package webui

import (
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
)

// poses adds a question with choices to a chat.
func (w *world) poses(chatID string, titles ...string) {
	options := conversation.NewOptions(titles)
	w.say(chatID, conversation.RoleAssistant, conversation.KindText, "", "¿De qué **color**?"+conversation.OptionLines(options))
	list := w.messages[chatID]
	list[len(list)-1].Asks, list[len(list)-1].Options = true, options
}

// TestAQuestionHasItsChoicesAsButtons while it is the open one; else they are a list. They stand once, and are escaped.
func TestAQuestionHasItsChoicesAsButtons(t *testing.T) {
	w, _ := recordedWorld(t, "reserva")
	page := func(change func()) string {
		w.mu.Lock()
		w.messages["q"], w.chats["q"] = nil, conversation.Chat{ID: "q", UpdatedAt: time.Now()}
		w.poses("q", "Azul <b>", `"Verde"`, "👩‍💻")
		if change != nil {
			change()
		}
		w.mu.Unlock()
		return get(t, w.page, "/ui/chats/q", ana).Body.String()
	}
	open := page(nil)
	for _, want := range []string{
		`data-asks`, `<ol class="options" aria-label="Opciones">`, `value="Azul &lt;b&gt;"`, `value="&#34;Verde&#34;"`, ">👩‍💻</button>", "<strong>color</strong>?",
	} {
		if !strings.Contains(open, want) {
			t.Errorf("it lacks %s:\n%s", want, open)
		}
	}
	if strings.Count(open, "Azul") != 2 || strings.Count(open, `data-action="choose"`) != 3 { // the value and the words of a button
		t.Errorf("the choices stand elsewhere, too:\n%s", open)
	}
	for name, change := range map[string]func(){
		"answered":      func() { w.say("q", conversation.RoleUser, conversation.KindText, "", "Azul") },
		"a later text":  func() { w.say("q", conversation.RoleAssistant, conversation.KindText, "", "Da igual.") },
		"to a customer": func() { c := w.chats["q"]; c.Company, c.SessionID = 7, "+34"; w.chats["q"] = c },
	} {
		closed := page(change)
		if strings.Contains(closed, `data-action="choose"`) || strings.Contains(closed, "data-asks") || !strings.Contains(closed, "<span dir=\"auto\">Azul &lt;b&gt;</span>") {
			t.Errorf("%s:\n%s", name, closed)
		}
	}
	running := page(func() { w.say("q", conversation.RoleAssistant, conversation.KindProgress, "r1", "Paso 1 hecho") })
	if !strings.Contains(running, `data-action="choose"`) {
		t.Error("a run that goes on takes the choices away")
	}
	if got := locale.Text(locale.English, "page.line.options"); got != "Options" {
		t.Error(got)
	}
}

// TestAChoiceIsMadeByItsButton, by the keyboard alone: it is sent once, what was begun stays, and its buttons are gone. A yes that is
// typed answers it, although a plan waits that was not read.
func TestAChoiceIsMadeByItsButton(t *testing.T) {
	b := open(t, 390, 844)
	b.world.mu.Lock()
	b.chats["c1"] = conversation.Chat{ID: "c1", UpdatedAt: time.Now()}
	b.world.poses("c1", "Azul", "Verde")
	b.world.mu.Unlock()
	b.visit("/?chat=c1")
	b.see(`[data-asks] [data-action="choose"]`)
	b.picture("question")
	b.write("#message", "a medias")
	b.reach(`[value="Verde"]`)
	b.press("Enter", "Enter")
	b.until(`document.querySelectorAll(".line.user:not(.sending)").length === 1 && document.querySelectorAll("[data-action=choose], [data-asks]").length === 0`)
	if got := eval[string](b, `document.getElementById("message").value`); got != "a medias" {
		t.Errorf("what was begun is %q", got)
	}
	b.world.mu.Lock()
	sends := strings.Join(b.sends, " ")
	b.world.mu.Unlock()
	if strings.Count(sends, "Verde") != 1 || strings.Contains(sends, "medias") {
		t.Errorf("it sent %s", sends)
	}
	b.world.mu.Lock()
	b.propose("c1", *planOf("reserva", time.Now()))
	b.world.poses("c1", "Azul", "Verde")
	b.world.mu.Unlock()
	b.visit("/?chat=c1")
	b.see(`[data-asks] [data-action="choose"]`)
	eval[bool](b, `(document.getElementById("message").value = "", true)`)
	b.say("sí")
	b.until(`document.querySelectorAll(".line.user:not(.sending)").length === 2`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if last := b.sends[len(b.sends)-1]; !strings.Contains(last, "sí") {
		t.Errorf("it sent %s", last)
	}
}
