package webui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"

	"github.com/chromedp/chromedp"
)

// startChat opens a connected chat with one message and its answer.
func startChat(b *browser) (chat string) {
	b.Helper()
	b.say("hola")
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 1 && document.getElementById("writing") === null`)
	b.waitForSocket()
	return b.onlyChat()
}

// checkMessages waits until the page shows exactly the messages of the store, and then checks that a reload shows the same.
func (b *browser) checkMessages(chat string) {
	b.Helper()
	b.world.mu.Lock()
	var ids []string
	for _, m := range b.messages[chat][max(0, len(b.messages[chat])-messagesPage):] {
		ids = append(ids, "m-"+m.ID)
	}
	b.world.mu.Unlock()
	shown := fmt.Sprintf(`[...document.querySelectorAll("#thread > .line")].slice(-%d)`, messagesPage)
	b.until(shown + `.map(l => l.id).join() === ` + quoted(strings.Join(ids, ",")))
	said := shown + `.map(l => l.innerText).join("\n")`
	before := eval[string](b, said)
	b.do(chromedp.Reload())
	b.see("#thread .line")
	b.until(`document.readyState === "complete"`)
	if after := eval[string](b, said); after != before {
		b.Errorf("a reload shows\n%s\ninstead of\n%s", after, before)
	}
}

// TestThePageShowsTheStoreWhateverHappensToPushes (guarantee I29): they are lost, repeated, late or reordered.
func TestThePageShowsTheStoreWhateverHappensToPushes(t *testing.T) {
	b := open(t, 1280, 900)
	b.hub.set(func(h *hub) { h.ping = 0.3 })
	chat := startChat(b)
	for name, fault := range map[string]func(int64) verb{
		"dropped":   func(n int64) verb { return []verb{drop, pass, drop}[n%3] },
		"all lost":  func(int64) verb { return drop },
		"repeated":  func(int64) verb { return twice },
		"reordered": func(n int64) verb { return []verb{late, pass}[n%2] },
		"mixed":     func(n int64) verb { return []verb{pass, twice, late, drop, pass, late, twice}[n%7] },
	} {
		b.waitForSocket()
		b.hub.set(func(h *hub) { h.fault = fault })
		for i := range 9 {
			b.world.mu.Lock()
			b.world.say(chat, conversation.RoleUser, conversation.KindText, "", fmt.Sprintf("pregunta %d, %s", i, name))
			b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", fmt.Sprintf("respuesta %d", i))
			b.world.mu.Unlock()
		}
		b.checkMessages(chat)
	}
}

// TestALostPushIsNoticedAtTheNextOne: the page finds the gap without another ping, also when the next push is about
// something that it does not show.
func TestALostPushIsNoticedAtTheNextOne(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	var pings int
	lost := false
	b.hub.set(func(h *hub) {
		pings = h.pings
		h.fault = func(int64) verb {
			if !lost {
				lost = true
				return drop
			}
			return pass
		}
	})
	b.world.mu.Lock()
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "se perdió")
	b.world.mu.Unlock()
	b.hub.push("elsewhere", map[string]any{})
	b.until(`document.getElementById("thread").innerText.includes("se perdió")`)
	b.hub.set(func(h *hub) {
		if h.pings != pings {
			t.Errorf("it pinged %d times before it asked", h.pings-pings)
		}
	})
}

// TestThePageSaysWhichChatIsOpen: it says so when a chat begins and when another view is entered. It takes a push that
// a chat changed for one about a message.
func TestThePageSaysWhichChatIsOpen(t *testing.T) {
	b := open(t, 1280, 900)
	says := func(chat string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			open := "?"
			b.hub.set(func(h *hub) { open = h.open })
			if open == chat {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the page says that %q is open, not %q", open, chat)
			}
		}
	}
	chat := startChat(b)
	says(chat)
	b.hub.set(func(h *hub) {
		h.fault = func(int64) verb {
			for line := range h.lines {
				line.seq-- // the push is lost, and the next one shows no gap
			}
			return drop
		}
	})
	b.world.mu.Lock()
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "de otra parte")
	b.world.mu.Unlock()
	b.hub.set(func(h *hub) { h.fault = nil })
	b.hub.push("chat", map[string]any{"conversationId": chat})
	b.until(`document.getElementById("thread").innerText.includes("de otra parte")`)
	b.do(chromedp.Click("a.brand"))
	says("")
}

func TestManyPushesCauseOneRequestAtATime(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	for i := range 200 {
		b.world.mu.Lock()
		b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", fmt.Sprintf("mensaje %d", i))
		b.world.mu.Unlock()
	}
	b.until(`document.getElementById("thread").lastElementChild?.innerText.includes("mensaje 199")`)
	b.looks.mu.Lock()
	defer b.looks.mu.Unlock()
	if b.looks.most != 1 || b.looks.all > 120 {
		t.Errorf("%d looks, %d at once", b.looks.all, b.looks.most)
	}
}

func TestALostSocketLeavesPollingAndComesBack(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	b.say("reserva")
	b.until(`document.querySelector('` + confirmButton + `')?.disabled === false`)
	b.hub.set(func(h *hub) { h.away = true })
	b.hub.cut()
	b.until(`!document.documentElement.hasAttribute("data-live")`)
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-status=done]") !== null && document.querySelector(".line.outcome") !== null`)
	b.world.mu.Lock()
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "mientras tanto")
	b.world.mu.Unlock()
	b.hub.set(func(h *hub) { h.away = false })
	b.waitForSocket()
	b.until(`document.getElementById("thread").innerText.includes("mientras tanto")`)
	b.world.mu.Lock()
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "de vuelta")
	b.world.mu.Unlock()
	b.until(`document.getElementById("thread").innerText.includes("de vuelta")`)
	if open, ever, _ := b.hub.count(); open != 1 || ever != 2 {
		t.Errorf("%d connections, %d ever", open, ever)
	}
}

func TestSigningOutElsewhereEndsTheSocket(t *testing.T) {
	b := open(t, 1280, 900)
	startChat(b)
	b.world.mu.Lock()
	clear(b.tokens)
	b.world.mu.Unlock()
	b.hub.cut()
	for door := false; !door; { // the navigation ends pending evaluations
		door, _ = chromedp.Run(b.ctx, chromedp.Evaluate[bool](`document.querySelector('input[name="token"]') !== null && document.querySelector("script") === null`))
		if b.ctx.Err() != nil {
			t.Fatal("the door is not shown")
		}
	}
	if open, _, _ := b.hub.count(); open != 0 {
		t.Errorf("%d connections are left", open)
	}
}

// TestTwoPagesOfAPersonStayInSync: the second page shows the messages of the first as they arrive, and none twice.
func TestTwoPagesOfAPersonStayInSync(t *testing.T) {
	b := open(t, 1280, 900)
	chat := startChat(b)
	other, stop := chromedp.NewContext(b.ctx)
	defer stop()
	two := &browser{T: t, world: b.world, ctx: other, base: b.base}
	two.visit("/?chat=" + chat)
	two.waitForSocket()
	next := make(chan struct{})
	b.world.mu.Lock()
	b.tale, b.next = []string{"Uno, ", "dos."}, next
	b.world.mu.Unlock()
	b.say("otro cuento")
	for range 2 {
		next <- struct{}{}
	}
	two.until(`document.querySelector("#writing .prose")?.textContent === "Uno, dos." && document.querySelectorAll(".line.user").length === 2`)
	b.until(`document.querySelectorAll(".line.user").length === 2 && document.querySelector(".line.user.sending") === null`)
	next <- struct{}{}
	for _, page := range []*browser{b, two} {
		page.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 2 && document.getElementById("writing") === null && document.getElementById("stop").hidden`)
	}
}
