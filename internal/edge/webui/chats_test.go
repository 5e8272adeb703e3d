package webui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
)

// talks adds chats, the newest first, each with a question and an answer.
func (w *world) talks(titles ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, name := range titles {
		id := fmt.Sprintf("c%d", i+1)
		when := w.now().Add(-time.Duration(i+1) * time.Hour)
		w.chats[id] = conversation.Chat{ID: id, Title: name, CreatedAt: when, UpdatedAt: when}
		for k, text := range []string{"¿Qué sé de la Cámara " + name + "?", "Sé que está libre."} {
			m := conversation.Message{ID: fmt.Sprintf("%sm%d", id, k), Kind: conversation.KindText, Role: conversation.RoleUser, Content: text, At: when}
			if k == 1 {
				m.Role = conversation.RoleAssistant
			}
			m.Seq = m.ID
			w.messages[id] = append(w.messages[id], m)
		}
	}
}

// TestListOfChats: pinned chats stand first, archived ones are apart, equal titles show what differs, and no title is
// markup or turns the text around.
func TestListOfChats(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	w.talks("Salas", "Salas", "<script>x</script>", "a\u202eb", "Familia 👩\u200d👩\u200d👧", strings.Repeat("x", 10_000))
	c := w.chats["c3"]
	c.Pinned = true
	w.chats["c3"] = c
	c = w.chats["c5"]
	c.Archived = true
	w.chats["c5"] = c
	list := get(t, w.page, "/ui/chats", ana).Body.String()
	if strings.Count(list, "data-when") != 2 || strings.Contains(list, "<script>x") || strings.Contains(list, "\u202e") || strings.Contains(list, "Familia") {
		t.Errorf("%s", list)
	}
	if strings.Index(list, `data-row="c3"`) > strings.Index(list, `data-row="c1"`) || !strings.Contains(list, " data-pinned") {
		t.Error("the pinned chat is not the first one")
	}
	away := get(t, w.page, "/ui/chats?archived", ana).Body.String()
	if strings.Count(away, "data-row") != 1 || !strings.Contains(away, "Familia 👩\u200d👩\u200d👧") || !strings.Contains(away, "data-archived") || strings.Contains(away, "<ul") {
		t.Errorf("%s", away)
	}
	for q, want := range map[string]int{"CAMARA+salas": 2, "familia": 1, "nada+de+eso": 0, "%20": 0, "script": 1} {
		found := get(t, w.page, "/ui/search?q="+q, ana).Body.String()
		if strings.Count(found, "data-row") != want || strings.Contains(found, "<script>") || want > 0 && !strings.Contains(found, "<mark>") {
			t.Errorf("%s: %s", q, found)
		}
	}
}

// TestAChatSaysHowItsLastPlanEnded, when it ended badly and nothing newer is asked or running in it.
func TestAChatSaysHowItsLastPlanEnded(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	for id, status := range map[string]plan.Status{"c1": plan.Failed, "c2": plan.InDoubt, "c3": plan.Done} {
		w.chats[id] = conversation.Chat{ID: id, Title: id, LastRunStatus: string(status)}
	}
	w.chats["c4"] = conversation.Chat{ID: "c4", Title: "c4", LastRunStatus: string(plan.Failed), ActiveRunID: "r"}
	body := get(t, w.page, "/ui/chats", ana).Body.String()
	if bad, doubt := strings.Count(body, `class="went bad"`), strings.Count(body, `class="went doubt"`); bad != 1 || doubt != 1 || !strings.Contains(body, "Su último plan terminó con error") {
		t.Errorf("%d failed, %d in doubt:\n%s", bad, doubt, body)
	}
}

func TestReplacedLinesAreFolded(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	w.talks("Salas")
	w.messages["c1"][1].ReplacedBy = "c1m9"
	page := get(t, w.page, "/ui/chats/c1", ana).Body.String()
	if strings.Count(page, `class="line earlier" id="m-c1m1"`) != 1 || strings.Contains(page, "answer-again") || !strings.Contains(page, "Versión anterior de la respuesta") {
		t.Errorf("%s", page)
	}
}

// TestChatsByKeyboard searches, pins, deletes and takes it back, edits and answers again, by the keyboard alone.
func TestChatsByKeyboard(t *testing.T) {
	b := open(t, 1100, 900)
	b.talks("Norte", "Sur", "Este")
	press := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	focus := func(css string) {
		b.until(`(document.querySelector(` + "`" + css + "`" + `)?.focus(), document.activeElement?.matches(` + "`" + css + "`" + `))`)
	}
	b.visit("/")
	b.see(`[data-row="c3"]`)

	// Search: words without accents, Enter opens at the message.
	b.press("/")
	b.until(`document.activeElement.matches("[data-input=find-chats]")`)
	press("camara sur")
	b.until(`document.querySelectorAll(".chat-list [data-row]").length === 1 && document.querySelectorAll(".snippet mark").length === 2`)
	b.picture("chat_search")
	press("\r")
	b.until(`location.search === "?chat=c2" && location.hash === "#m-c2m0" && document.activeElement.id === "m-c2m0"`)
	focus("[data-input=find-chats]")
	press("\x1b")
	b.until(`document.querySelectorAll(".chat-list > [data-row]").length === 3`)

	// The menu of a row: pin.
	focus(`[data-row="c3"] .chat-more`)
	press("\r")
	b.see(".chat-menu[open]")
	b.picture("chat_menu")
	press("\t")
	press("\r")
	b.until(`!document.querySelector(".chat-menu") && document.querySelector(".chat-list > [data-row]").dataset.row === "c3"`)

	// Delete and undo: nothing was deleted.
	focus(`[data-action="delete-chat"]`)
	press("\r")
	b.until(`document.activeElement.matches(".toast button") && document.querySelector('[data-row="c2"]').hidden && location.search === ""`)
	b.picture("chat_undo")
	press("\r")
	b.until(`!document.querySelector('[data-row="c2"]').hidden && location.search === "?chat=c2"`)

	// Another answer to the last message; the earlier one is folded.
	b.see("#m-c2m1 .again")
	focus("#m-c2m1 .again")
	press("\r")
	b.until(`document.querySelector("#m-c2m1.earlier details") && document.querySelectorAll(".line.assistant").length === 1`)

	// Another text in the place of the last message.
	focus("#m-c2m0 .edit-last")
	press("\r")
	b.until(`document.activeElement.id === "message" && document.activeElement.value.startsWith("¿Qué sé") && document.getElementById("editing")`)
	b.picture("chat_edit")
	press(" Dime.")
	b.until(`!document.getElementById("send").disabled`) // the other answer has arrived
	b.enter()
	b.until(`document.querySelectorAll(".line.earlier").length === 3 && document.querySelectorAll(".line.user").length === 1 && !document.getElementById("editing")`)
	b.picture("chat_replaced")
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.sends[len(b.sends)-1]; !strings.Contains(last, `"replaces":"c2m0"`) {
		t.Errorf("sent %s", last)
	}
	if _, there := b.chats["c2"]; !there {
		t.Error("the chat was deleted")
	}
}

// TestADeletedChatIsDeletedWhenThePageGoes: nobody took it back.
func TestADeletedChatIsDeletedWhenThePageGoes(t *testing.T) {
	b := open(t, 390, 844)
	b.talks("Norte", "Sur")
	b.visit("/?chat=c1")
	b.click(`[data-action="delete-chat"]`)
	b.until(`document.querySelector(".toast button")`)
	b.mu.Lock()
	_, there := b.chats["c1"]
	b.mu.Unlock()
	if !there {
		t.Fatal("it was deleted at once")
	}
	b.visit("/?chat=c2")
	gone := false
	for range 100 {
		b.mu.Lock()
		_, there = b.chats["c1"]
		b.mu.Unlock()
		if gone = !there; gone {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !gone {
		t.Error("it is still there")
	}
	b.click(".menu")
	b.see(".chat-search")
	b.picture("chat_phone")
}

// TestOneDraftPerChat: what was begun in a chat is there after a reload and after a visit to another one, and is gone
// when it was sent.
func TestOneDraftPerChat(t *testing.T) {
	b := open(t, 1440, 900)
	b.talks("Norte", "Sur")
	value := func(want string) { b.until(`document.getElementById("message").value === ` + quoted(want)) }
	visit := func(chat string) { // by the list, which may be brought up to date at this moment
		b.until(`document.querySelector(".chat-link[data-chat=` + chat + `]")`)
		eval[bool](b, `document.querySelector(".chat-link[data-chat=`+chat+`]").click() || true`)
		b.until(`location.search === "?chat=` + chat + `"`)
	}
	b.visit("/?chat=c1")
	b.write("#message", "a medias")
	b.visit("/?chat=c1")
	value("a medias")
	visit("c2")
	value("")
	visit("c1")
	value("a medias")
	b.until(`(document.getElementById("message").focus(), !document.getElementById("send").disabled)`)
	b.enter()
	b.until(`document.querySelectorAll(".line.assistant").length === 2`)
	b.visit("/?chat=c1")
	value("")
	if kept := eval[bool](b, `localStorage.length > 0`); kept {
		t.Error("the browser keeps something")
	}
}
