package webui

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"

	"github.com/chromedp/chromedp"
)

// TestNotesAreShownAtTheirMessage: above a text that they contradict, else below it, and before a card that is shown again;
// always escaped.
func TestNotesAreShownAtTheirMessage(t *testing.T) {
	w, run := recordedWorld(t, "reserva")
	note := func(code, text string) conversation.Note { return conversation.Note{Code: code, Text: text} }
	shown := []struct {
		kind  conversation.Kind
		runID string
		notes []conversation.Note
		order []string // of what the line has
	}{
		{
			conversation.KindText, "",
			[]conversation.Note{note(conversation.NoteCost, "Ha costado."), note(conversation.NoteNothingDone, "No se ha <b>ejecutado</b> nada."), note(conversation.NoteNothingPending, "No hay plan.")},
			[]string{`class="contradiction"`, "<p>Aviso: No se ha &lt;b&gt;ejecutado&lt;/b&gt; nada.</p><p>Aviso: No hay plan.</p>", "Texto 0", `class="remark"`, "Ha costado."},
		},
		{conversation.KindText, run.ID, []conversation.Note{note(conversation.NoteNothingDone, "Nada.")}, []string{`class="contradiction"`, "Aviso: Nada.", "Texto 1"}},
		{conversation.KindConclusion, run.ID, []conversation.Note{note(conversation.NoteInDoubt, "No se sabe."), note(conversation.NoteNotInResults, "No está: 7.")}, []string{`class="contradiction"`, "Aviso: No se sabe.", "Aviso: No está: 7.", "Texto 2"}},
		{conversation.KindNotice, "", []conversation.Note{note(conversation.NotePartial, "Falta algo.")}, []string{"Texto 3", `class="remark"`, "Falta algo."}},
		{conversation.KindText, "", []conversation.Note{note(conversation.NoteNothingDone, "Antes.")}, []string{"<details", `class="contradiction"`, "Aviso: Antes.", "Texto 4"}},
		{conversation.KindPlan, run.ID, []conversation.Note{note(conversation.NoteNotConfirmed, "No he ejecutado nada.")}, []string{`class="remark"`, "No he ejecutado nada.", `class="card"`}},
	}
	w.mu.Lock()
	var ids []string
	for i, s := range shown {
		m := w.say("c1", conversation.RoleAssistant, s.kind, s.runID, "Texto "+itoa(i))
		w.notes = s.notes
		w.noted("c1")
		ids = append(ids, m.ID)
	}
	w.replace("c1", ids[4], ids[5])
	for i, m := range w.messages["c1"] { // of the last two, only the first was replaced
		if m.ID != ids[4] {
			w.messages["c1"][i].ReplacedBy = ""
		}
	}
	w.mu.Unlock()
	body := get(t, w.page, "/ui/chats/c1", ana).Body.String()
	for i, s := range shown {
		_, line, _ := strings.Cut(body, `id="m-`+ids[i]+`"`)
		line, _, _ = strings.Cut(line, "</li>")
		if i == 5 {
			_, line, _ = strings.Cut(body, `id="m-`+ids[i]+`"`)
		}
		rest := line
		for _, want := range s.order {
			before, after, ok := strings.Cut(rest, want)
			if !ok || strings.Contains(before, "Texto "+itoa(i)) && strings.Contains(want, "contradiction") {
				t.Errorf("%d: %q is not where it belongs:\n%s", i, want, line)
			}
			rest = after
		}
		if n := strings.Count(line, `class="contradiction"`); n != strings.Count(strings.Join(s.order, ""), "contradiction") {
			t.Errorf("%d: %d strips:\n%s", i, n, line)
		}
	}
}

// longTale is an answer that is longer than a screen.
func longTale() []string {
	var tale []string
	for i := range 60 {
		tale = append(tale, "Renglón "+itoa(i)+" de lo que ya he hecho por ti.\n\n")
	}
	return append(tale, "Ya he reservado la sala.\n\n")
}

// TestWhatContradictsATextIsSeenAboveIt: also when the text came before it, wherever its reader is; it is told before the text.
func TestWhatContradictsATextIsSeenAboveIt(t *testing.T) {
	b := open(t, 1280, 800)
	chat := startChat(b)
	b.waitForSocket()
	eval[bool](b, hear)
	b.world.mu.Lock()
	b.notes = []conversation.Note{{Code: conversation.NoteNothingDone, Text: "No se ha ejecutado nada desde tu mensaje."}, {Code: conversation.NoteCost, Text: "Ha costado más."}}
	b.tale, b.next = longTale(), make(chan struct{})
	b.world.mu.Unlock()
	b.say("un cuento")
	for range len(longTale()) {
		b.next <- struct{}{}
	}
	end := sync.OnceFunc(func() { close(b.next) })
	defer end()
	b.until(`document.querySelector("#writing .blocks")?.innerText.includes("Renglón 59")`)
	b.until(`document.getElementById("scroller").scrollHeight > 2 * innerHeight`)
	// Somebody reads in the middle.
	eval[bool](b, `(document.getElementById("scroller").scrollTop = document.getElementById("scroller").scrollHeight / 2, true)`)
	row := `[...document.querySelectorAll(".line.assistant:last-child .prose p")].find(p => p.innerText.startsWith("Renglón 40 ")).getBoundingClientRect().top`
	before := eval[float64](b, row)
	end()
	b.until(`document.getElementById("writing") === null && document.querySelector(".contradiction") !== null`)
	if after := eval[float64](b, row); after < before-2 || after > before+2 {
		t.Errorf("the text went from %.0f to %.0f", before, after)
	}
	eval[bool](b, `(document.getElementById("scroller").scrollTop = document.getElementById("scroller").scrollHeight / 2, true)`)
	look := `(() => { const strip = document.querySelector(".contradiction"), prose = strip.nextElementSibling, r = strip.getBoundingClientRect(), s = document.getElementById("scroller").getBoundingClientRect();
		return [strip.innerText.trim(), prose.className, String(r.top >= s.top && r.bottom < s.bottom), getComputedStyle(strip).fontSize === getComputedStyle(prose).fontSize ? "as large" : "smaller"]; })()`
	want := []string{"Aviso: No se ha ejecutado nada desde tu mensaje.", "prose", "true", "as large"}
	if got := eval[[]string](b, look); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b.picture("contradiction-middle")
	b.until(`told.length > 1`)
	if told := eval[[]string](b, `told`); told[len(told)-2] != "Aviso: No se ha ejecutado nada desde tu mensaje." || !strings.HasPrefix(told[len(told)-1], "Renglón 0") {
		t.Errorf("it told %q", told)
	}
	if at := eval[string](b, `document.activeElement.id`); at != "message" {
		t.Errorf("the focus is at %q", at)
	}
	b.keepsFocus()
	b.world.mu.Lock()
	b.world.say(chat, conversation.RoleUser, conversation.KindText, "", "¿Y los datos?")
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", "Te espera el **98 765**: lo he apuntado todo, y está reservado para mañana.")
	b.notes = []conversation.Note{{Code: conversation.NoteNotInResults, Text: "No está en los resultados: 98 765, 41 m², 12:30, 2026-03-09, ORD-12345, 1 250,00 €, 8 %, +34 600 000 000."}}
	b.noted(chat)
	b.world.mu.Unlock()
	for _, width := range []int64{1280, 360} {
		for _, dark := range []bool{false, true} {
			b.screen(width, 760, dark, width == 360)
			b.visit("/?chat=" + chat)
			b.see(".line:last-child .contradiction")
			if eval[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
				t.Errorf("%d px: it scrolls sideways", width)
			}
			b.picture("contradiction-" + itoa(int(width)) + map[bool]string{true: "-dark"}[dark])
		}
	}
}

const offered = `#offer [data-action="confirm-run"]`

// TestAPlanIsConfirmedBeneathALaterText: its card is out of sight by then. The button confirms what the card's button does,
// after the same look, and goes with the plan or with another message.
func TestAPlanIsConfirmedBeneathALaterText(t *testing.T) {
	b := open(t, 1280, 700)
	b.waitForSocket()
	eval[bool](b, hear)
	b.proposePlan("borra la vieja")
	if eval[bool](b, `document.getElementById("offer") !== null`) {
		t.Error("it is offered beneath its card")
	}
	b.say("me parece muy bien lo que dices")
	b.see(offered)
	if said := eval[string](b, `document.getElementById("offer").innerText`); !strings.Contains(said, "Borrar la vieja") || !strings.Contains(said, "1 destruye") || !strings.Contains(said, "Confirmar") {
		t.Errorf("it says %q", said)
	}
	if !eval[bool](b, `document.querySelector('`+offered+`').matches(".danger") && document.getElementById("thread").nextElementSibling.id === "offer"`) {
		t.Error(eval[string](b, `document.getElementById("offer").outerHTML`))
	}
	b.until(`document.getElementById("offer").getBoundingClientRect().bottom <= document.getElementById("scroller").getBoundingClientRect().bottom`) // the page goes there
	b.picture("offer")
	for _, dark := range []bool{false, true} {
		b.screen(360, 700, dark, true)
		eval[bool](b, `(document.getElementById("scroller").scrollTop = 1e6, true)`)
		b.until(stillness)
		b.picture("offer-360" + map[bool]string{true: "-dark"}[dark])
	}
	b.screen(1280, 700, false, false)
	// It goes while an answer is on its way, and the press that shows a step does not confirm.
	b.world.mu.Lock()
	b.tale, b.next = []string{"Érase. "}, make(chan struct{})
	b.world.mu.Unlock()
	b.say("un cuento")
	b.until(`document.getElementById("writing") !== null && document.getElementById("offer") === null`)
	close(b.next)
	b.see(offered)
	first := b.theRun(0)
	before := eval[string](b, `document.getElementById("offer").dataset.of`)
	b.revisedElsewhere() // what was seen is another plan
	b.until(`document.getElementById("offer") !== null && document.getElementById("offer").dataset.of !== "` + before + `"`)
	b.until(`document.querySelector('` + offered + `').disabled === false`)
	unseen := eval[int](b, `document.querySelectorAll(".card-unseen:not([hidden])").length`)
	b.do(chromedp.Focus(chromedp.CSS(offered)), chromedp.KeyEvent("\r"))
	if unseen > 0 {
		b.until(`document.activeElement.matches(".step")`)
		if r := b.theRun(0); r.Status != plan.Draft {
			t.Errorf("a step that was not in sight was confirmed: %s", r.Status)
		}
		b.until(`document.querySelectorAll(".card-unseen:not([hidden])").length === 0`)
		b.do(chromedp.Sleep(time.Second)) // a press at once would be for what was just shown
		b.do(chromedp.Focus(chromedp.CSS(offered)), chromedp.KeyEvent("\r"))
	} else {
		t.Error("every step of a plan that is out of sight was seen")
	}
	b.until(`document.querySelector(".card[data-draft]") === null && document.getElementById("offer") === null`)
	b.world.mu.Lock()
	now, keys := b.runs[first.ID], len(b.world.keys)
	b.world.mu.Unlock()
	if now.Status == plan.Draft || now.Digest == first.Digest || keys != 1 {
		t.Errorf("%s, %d confirmations", now.Status, keys)
	}
	b.keepsFocus()
	b.say("hola")
	b.until(`document.querySelectorAll(".line.assistant[data-kind=text]").length === 3 && document.getElementById("writing") === null`)
	if eval[bool](b, `document.getElementById("offer") !== null`) {
		t.Error("nothing waits, and it is offered")
	}
}
