package webui

import (
	"slices"
	"strings"
	"testing"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

const lostSign = `document.getElementById("connection").checkVisibility()`

// TestEveryViewSaysThatTheServerIsGone, and shows what happened meanwhile when it is back.
func TestEveryViewSaysThatTheServerIsGone(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	for _, view := range []string{"/?chat=" + chat, "/", "/?view=servers", "/?view=projects", "/?view=assistants", "/?view=credits", "/?view=rules", "/?view=webhooks"} {
		b.visit(view)
		b.waitForSocket()
		b.stop()
		b.until(lostSign)
		if said := eval[string](b, `document.getElementById("connection").innerText`); !strings.Contains(said, "Piloto no responde desde las ") {
			t.Errorf("%s: %q", view, said)
		}
		if view == "/" {
			b.picture("lost")
		}
		b.world.mu.Lock()
		b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "mientras en "+view)
		b.servers["new"] = tool.Server{ID: "new", Name: "Nuevo en " + view, Kind: tool.KindOpenAPI, BaseURL: "https://new.example", Active: true, Status: tool.Online, RefreshedAt: b.now()}
		b.world.mu.Unlock()
		b.start()
		b.until(`!` + lostSign)
		switch view {
		case "/?chat=" + chat:
			b.until(`document.getElementById("thread").innerText.includes("mientras en ")`)
		case "/?view=servers":
			b.until(`document.getElementById("view").innerText.includes("Nuevo en /?view=servers")`)
		}
		b.waitForSocket()
	}
}

// TestTheBrowserOfflineIsSaid at once, without a request.
func TestTheBrowserOfflineIsSaid(t *testing.T) {
	b := open(t, 390, 844)
	b.waitForSocket()
	b.setDown(true)
	eval[bool](b, `dispatchEvent(new Event("offline"))`)
	b.until(lostSign)
	b.picture("lost_narrow")
	b.setDown(false)
	b.until(`!` + lostSign)
}

// TestNothingIsCountedWhileNobodyKnows: the time of a step that runs stands still.
func TestNothingIsCountedWhileNobodyKnows(t *testing.T) {
	b := open(t, 1280, 900)
	b.proposePlan("reserva")
	b.hold(true)
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-live]") !== null`)
	b.world.mu.Lock()
	for id, r := range b.runs {
		for !slices.ContainsFunc(r.Steps, func(s plan.StepState) bool { return s.Status == plan.StepRunning }) {
			b.advance(&r)
		}
		b.runs[id] = r
	}
	b.world.mu.Unlock()
	b.until(`document.querySelector(".card time[data-since]") !== null`)
	b.stop()
	b.until(lostSign)
	span := `document.querySelector(".card time[data-since]").textContent`
	before := eval[string](b, span)
	eval[bool](b, `new Promise(done => setTimeout(done, 3500, true))`)
	if after := eval[string](b, span); after != before {
		t.Errorf("%s became %s", before, after)
	}
	b.start()
	b.until(span + ` !== ` + quoted(before))
}

// TestAMessageIsSentAgainOnce: one that did not arrive when the server answers again, and one that did without
// being said twice. Both attempts have one key.
func TestAMessageIsSentAgainOnce(t *testing.T) {
	for name, arrived := range map[string]bool{"not arrived": false, "arrived": true} {
		t.Run(name, func(t *testing.T) {
			b := open(t, 1280, 900)
			chat := startChat(b)
			b.world.mu.Lock()
			b.unheard = arrived
			b.world.mu.Unlock()
			if !arrived {
				b.stop()
			}
			b.say("¿qué salas hay?")
			if !arrived {
				b.until(`document.querySelector(".line.user.sending .fine") !== null`)
				b.picture("waits_to_send")
				b.start()
			}
			b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 2 && document.querySelector(".line.user.sending, .line.failed, .problem") === null`)
			b.checkMessages(chat)
			b.world.mu.Lock()
			defer b.world.mu.Unlock()
			if n := len(b.messages[chat]); n != 4 {
				t.Errorf("%d messages", n)
			}
			if want := map[bool]int{true: 3, false: 2}[arrived]; len(b.sends) != want || len(b.answers) != 2 {
				t.Errorf("%d requests of %d keys, and not %d of 2", len(b.sends), len(b.answers), want)
			}
		})
	}
}
