package webui

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"

	"github.com/chromedp/chromedp"
)

// waitingWorld has a draft, a draft that destroys and has an amount, an approval, a doubt, and a job that asks.
func waitingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(at(noon), Facts{Demo: true})
	w.chats["c1"] = conversation.Chat{ID: "c1", Title: "Salas <b>"}
	w.chats["c2"] = conversation.Chat{ID: "c2"}
	add := func(id, chat string, r plan.Run) {
		r.ID, r.ChatID, r.User = id, chat, "ana"
		w.runs[id] = r
	}
	add("01JRUN00000000000000000001", "c1", draft(roomPlan(noon)))
	dear := roomPlan(noon.Add(-time.Hour))
	dear.Goal, dear.Steps[1].Method, dear.Steps[1].Risk = "Borrar y pagar", "DELETE", plan.Destructive
	dear.Steps[1].Body = json.RawMessage(`{"amount":1250.5}`)
	add("01JRUN00000000000000000002", "c2", draft(dear))
	waits := draft(fullPlan(noon))
	waits.Status = plan.Waiting
	waits.Steps = []plan.StepState{{StepID: plan.EffectOf("s4"), Status: plan.StepWaiting, Approval: &plan.Approval{AskedAt: noon, ExpiresAt: noon.Add(time.Minute)}}}
	add("01JRUN00000000000000000003", "c1", waits)
	doubt := draft(roomPlan(noon))
	doubt.Status = plan.InDoubt
	doubt.Steps = []plan.StepState{{StepID: plan.EffectOf("s2"), Status: plan.StepInDoubt, UpdatedAt: noon.Add(-time.Hour)}}
	add("01JRUN00000000000000000004", "c1", doubt)
	w.jobs["j1"] = job.Job{ID: "j1", Agent: "ventas", ChatID: "gone", Prompt: "¿Cuál?", Status: job.Waiting}
	return w
}

func TestWhatWaitsLooksLikeItsGolden(t *testing.T) {
	w := waitingWorld(t)
	golden(t, "waiting.html", dense(get(t, w.page, "/ui/waiting", ana).Body.String()))
	golden(t, "runs.html", dense(get(t, w.page, "/ui/runs", ana).Body.String()))
	golden(t, "waiting_none.html", dense(get(t, newWorld(at(noon), Facts{}).page, "/ui/waiting", ana).Body.String()))
}

func TestWhatWaitsIsFiltered(t *testing.T) {
	w := waitingWorld(t)
	for query, want := range map[string]int{
		"": 5, "kind=draft": 2, "kind=approval": 1, "kind=doubt": 1, "kind=job": 1, "kind=odd": 0, "risk=destructive": 2, "risk=write": 2, "money=1": 1,
		"agent=ventas": 1, "service=Nadie": 0, "service=Salas+de+demostraci%C3%B3n": 4, "service=Correo": 0, "kind=draft&money=1": 1,
	} {
		if n := strings.Count(get(t, w.page, "/ui/waiting?"+query, ana).Body.String(), `class="wait"`); n != want {
			t.Errorf("%s: %d rows, want %d", query, n, want)
		}
	}
	for query, want := range map[string]int{"": 4, "status=draft": 2, "q=PAGAR": 1, "q=nada": 0, "q=1250,5": 1, "status=draft&from=&to=": 2, "q=%3Cb%3E": 0} {
		if n := strings.Count(get(t, w.page, "/ui/runs?"+query, ana).Body.String(), "<tr data-run"); n != want {
			t.Errorf("%s: %d runs, want %d", query, n, want)
		}
	}
	if text := get(t, w.page, "/ui/runs", ana).Body.String(); strings.Count(text, ">0,0123 USD</td>") != 1 { // of the only run that ended
		t.Errorf("costs: %s", text)
	}
	for _, query := range []string{"status=odd", "from=ayer", "to=2026-13-01"} {
		if code := get(t, w.page, "/ui/runs?"+query, ana).Code; code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, code)
		}
	}
	if text := get(t, w.page, "/ui/runs?q=nada", ana).Body.String(); !strings.Contains(text, "Ningún plan coincide") || strings.Contains(text, "Todavía no") {
		t.Error("a search without hits reads as if there were no plans")
	}
}

// TestRunsAreListedByDayAndSayWhatUndidThem: both days of a filter are in it, and a run that another one undid says so.
func TestRunsAreListedByDayAndSayWhatUndidThem(t *testing.T) {
	w := waitingWorld(t)
	for i, id := range []string{"01JRUN00000000000000000001", "01JRUN00000000000000000002", "01JRUN00000000000000000003", "01JRUN00000000000000000004"} {
		r := w.runs[id]
		r.CreatedAt = noon.AddDate(0, 0, i)
		if i == 2 {
			r.Status, r.Plan.Undoes = plan.Done, "01JRUN00000000000000000001"
		}
		w.runs[id] = r
	}
	day := func(n int) string { return noon.AddDate(0, 0, n).Format(time.DateOnly) }
	for query, want := range map[string]int{"from=" + day(1): 3, "to=" + day(1): 2, "from=" + day(1) + "&to=" + day(1): 1, "from=" + day(9): 0} {
		if n := strings.Count(get(t, w.page, "/ui/runs?"+query, ana).Body.String(), "<tr data-run"); n != want {
			t.Errorf("%s: %d runs, want %d", query, n, want)
		}
	}
	_, row, _ := strings.Cut(get(t, w.page, "/ui/runs?q=reservar", ana).Body.String(), `<tr data-run="01JRUN00000000000000000001">`)
	row, _, _ = strings.Cut(row, "</tr>")
	if !strings.Contains(row, "Deshecho") || !strings.Contains(row, "said-pair") {
		t.Errorf("the row of an undone run: %s", row)
	}
	if text := get(t, w.page, "/ui/runs?q=pagar", ana).Body.String(); strings.Contains(text, "Deshecho") {
		t.Error("a run that nothing undid is said to be undone")
	}
}

func TestTheFileOfRunsHoldsNoFormula(t *testing.T) {
	w := waitingWorld(t)
	r := w.runs["01JRUN00000000000000000001"]
	r.Plan.Goal = "=HYPERLINK(\"x\")\n, \"y\""
	w.runs[r.ID] = r
	got := get(t, w.page, "/ui/runs.csv?status=draft", ana)
	lines := got.Body.String()
	if got.Header().Get("Content-Type") != "text/csv; charset=utf-8" || !strings.Contains(lines, "\"'=HYPERLINK(\"\"x\"\")\n, \"\"y\"\"\",") || !strings.HasPrefix(lines, "run_id,status,goal,") {
		t.Errorf("%v\n%s", got.Header(), lines)
	}
	if code := get(t, w.page, "/ui/runs.csv?status=odd", ana).Code; code != http.StatusBadRequest {
		t.Errorf("an unknown status: %d", code)
	}
}

// TestTheFileOfRunsHasTheFiltersOfItsList follows the link as the page has it.
func TestTheFileOfRunsHasTheFiltersOfItsList(t *testing.T) {
	w := waitingWorld(t)
	for query, want := range map[string]int{"": 4, "status=error": 0, "status=draft&q=borrar+y+pagar": 1, "q=%26%3D%2B": 0, "status=in_doubt": 1} {
		_, link, _ := strings.Cut(get(t, w.page, "/?view=runs&"+query, ana).Body.String(), `href="/ui/runs.csv`)
		link, _, _ = strings.Cut(link, `"`)
		got := get(t, w.page, "/ui/runs.csv"+html.UnescapeString(link), ana)
		rows, err := csv.NewReader(got.Body).ReadAll()
		if err != nil || len(rows) != want+1 {
			t.Errorf("%s: the file of %q has %d rows, want %d (%v)", query, link, len(rows)-1, want, err)
		}
		if strings.Contains(query, "pagar") && rows[1][len(rows[1])-1] != "1250,5" {
			t.Errorf("%q", rows[1])
		}
	}
}

// TestRunsAreFilteredWhileOneTypes: the rows, the address and the file follow the words, and the field keeps the focus. What
// is decided on a card of the inbox is said by its entry.
func TestRunsAreFilteredWhileOneTypes(t *testing.T) {
	b := open(t, 390, 844)
	b.world.mu.Lock()
	for i, room := range []string{"norte", "sur"} {
		id := fmt.Sprint("w", i)
		b.chats[id] = conversation.Chat{ID: id, Title: "Sala " + room}
		p := manyOrders(1)
		p.ID, p.Steps[0].Body = p.ID[:25]+fmt.Sprint(i), json.RawMessage(`{"client":"`+room+`","unit":"caja"}`)
		b.propose(id, p)
	}
	b.world.mu.Unlock()
	b.visit("/?view=runs")
	b.until(`document.querySelectorAll("[data-run]").length === 2`)
	b.write(`[data-input="filter-text"]`, "NOR")
	b.until(`document.querySelectorAll("[data-run]").length === 1 && location.search === "?view=runs&q=NOR" && document.getElementById("run-file").search === "?q=NOR"`)
	b.do(chromedp.KeyEvent("x"))
	b.until(`document.querySelector("#run-list .empty")?.innerText.includes("Ningún plan coincide")`)
	if eval[bool](b, `document.activeElement.dataset.input !== "filter-text" || document.activeElement.value !== "NORx"`) {
		t.Error("the field lost the focus or its words")
	}
	b.click("#run-list .empty a")
	b.until(`document.querySelectorAll("[data-run]").length === 2`)
	b.visit("/?view=waiting")
	b.click(".wait:first-child summary")
	b.click(`.wait:first-child [data-action="reject-run"]`)
	b.see("#ask-yes")
	b.click("#ask-yes")
	b.until(`document.querySelector(".wait[data-decided] summary .status")?.innerText.includes("Cancelado") && !document.querySelector(".wait[data-decided] .wait-pick")`)
}

// TestSeveralAreConfirmedOnlyWhenTheyWereSeen: one press for several sends nothing before each step was on the screen, and
// leaves out what destroys, which is confirmed alone.
func TestSeveralAreConfirmedOnlyWhenTheyWereSeen(t *testing.T) {
	b := open(t, 1280, 700)
	b.world.mu.Lock()
	for i, goal := range []string{"Largo", "Corto", "Borrar", "Borrar o repetir"} {
		id := fmt.Sprint("w", i)
		b.chats[id] = conversation.Chat{ID: id, Title: goal}
		p := roomPlan(time.Now())
		if i == 0 {
			p = fullPlan(time.Now())
		}
		p.ID, p.Goal = p.ID[:25]+fmt.Sprint(i), goal
		for k := range p.Steps {
			if i < 2 && p.Steps[k].Risk == plan.Destructive {
				p.Steps[k].Risk, p.Steps[k].Method = plan.Write, "PUT"
			}
		}
		switch i {
		case 2:
			p.Steps[1].Method, p.Steps[1].Risk = "DELETE", plan.Destructive
		case 3:
			p.Steps[1].Unanswered = &plan.Doubt{RunID: "01JPLAN0000000000000000007", StepID: plan.EffectOf("s2")}
		}
		b.propose(id, p)
	}
	b.world.mu.Unlock()
	b.visit("/?view=waiting")
	b.until(`document.querySelectorAll(".wait-pick").length === 4`)
	eval[bool](b, `document.querySelectorAll(".wait-pick").forEach(pick => pick.click()), true`)
	b.click(`[data-action="review"]`)
	b.until(`document.querySelectorAll("#review[open] .card").length === 4 && !document.getElementById("review-unseen").hidden`)
	b.picture("review_unseen")
	decided := func() (list []string) {
		b.world.mu.Lock()
		defer b.world.mu.Unlock()
		for _, d := range b.decisions {
			list = append(list, b.runs[fmt.Sprint(d["run_id"])].Plan.Goal)
		}
		return list
	}
	if label := eval[string](b, `document.getElementById("review-yes").innerText`); !strings.HasPrefix(label, "Ver lo que falta (") {
		t.Errorf("the button says %q", label)
	}
	if sign := eval[string](b, `document.querySelector("#review-yes use").getAttribute("href")`); sign != "#i-eye" {
		t.Errorf("the button that only shows has the sign %q", sign)
	}
	b.click(`#review-yes`)
	if got := decided(); len(got) > 0 {
		t.Fatalf("with steps that nobody saw it decided about %q", got)
	}
	// Each press shows the next part, and whoever presses on and on confirms nothing. The clock stands still, because a
	// busy machine may let a press wait longer than a person does.
	eval[bool](b, `(performance.now = ((at) => () => at)(performance.now()), true)`)
	for left := 10; left > 0; {
		b.do(chromedp.Sleep(50 * time.Millisecond))
		if !eval[bool](b, `document.getElementById("review-yes").click(), !document.getElementById("review-unseen").hidden`) {
			left--
		}
	}
	if got := decided(); len(got) > 0 {
		t.Fatalf("in a rush it decided about %q", got)
	}
	eval[bool](b, `delete performance.now`)
	b.do(chromedp.Sleep(time.Second))
	if label := eval[string](b, `document.getElementById("review-yes").innerText`); label != "Confirmar 2 a la vez" {
		t.Errorf("with all in sight the button says %q", label)
	}
	b.click(`#review-yes`)
	b.until(`document.querySelectorAll("#review .reviewed").length === 2`)
	if got := decided(); len(got) != 2 || strings.Contains(strings.Join(got, " "), "Borrar") {
		t.Errorf("together: %q", got)
	}
	// One that destroys and one that may have been done already have no button together. Each has its own.
	if eval[bool](b, `document.getElementById("review-yes").checkVisibility()`) {
		t.Error("one press confirms two that stand alone")
	}
	b.picture("review_destroys")
	first := eval[string](b, `document.querySelector("#review .reviewed").dataset.of`)
	for n := 0; n < 10 && len(decided()) == 2; n++ {
		b.do(chromedp.Sleep(time.Second))
		eval[bool](b, `document.querySelector('#review [data-of="`+first+`"] [data-alone] button')?.click(), true`)
	}
	b.until(`document.querySelectorAll("#review .reviewed").length === 1`)
	if got := decided(); len(got) != 3 {
		t.Errorf("one that destroys: %q", got)
	}
	b.until(`document.getElementById("review-yes").checkVisibility() && document.getElementById("review-yes").className.includes("danger") === (document.querySelector("#review .card-sum").dataset.destroys !== "0")`)
}

// TestWhatWaitsIsDecidedByKeyboard: found by its number, opened, chosen, compared and decided together, each by the digest of
// the plan that was shown.
func TestWhatWaitsIsDecidedByKeyboard(t *testing.T) {
	b := open(t, 1280, 900)
	b.world.mu.Lock()
	for i, room := range []string{"norte", "sur"} {
		id := fmt.Sprint("w", i)
		b.chats[id] = conversation.Chat{ID: id, Title: "Sala " + room}
		p := manyOrders(1)
		p.ID, p.Goal = p.ID[:25]+fmt.Sprint(i), "Pedir para "+room
		p.Steps[0].Body = json.RawMessage(`{"client":"` + room + `","unit":"caja"}`)
		b.propose(id, p)
	}
	b.world.mu.Unlock()
	b.visit("/")
	b.until(`document.getElementById("waiting-count").textContent === "2" && document.title.startsWith("(2) ") && document.querySelector("link[rel=icon]").getAttribute("href") === document.querySelector("link[rel=icon]").dataset.waiting`)
	b.click(`a[href="/?view=waiting"]`)
	b.until(`document.querySelectorAll(".wait").length === 2`)
	b.picture("waiting")
	press := func(key string) { b.do(chromedp.KeyEvent(key)) }
	press("j")
	b.until(`document.activeElement.matches(".wait:first-child summary")`)
	press("\r")
	b.see(".wait:first-child .card " + `[data-action="confirm-run"]`)
	press("j")
	b.until(`document.activeElement.matches(".wait:nth-child(2) summary")`)
	press("x")
	press("k")
	press("x")
	b.until(`document.getElementById("together-count").textContent.startsWith("2 ")`)
	b.click(`[data-action="review"]`)
	b.until(`document.querySelectorAll("#review[open] .card").length === 2`)
	b.picture("review")
	if same := eval[string](b, `[...document.querySelectorAll("#review strong.same")].map(e => e.textContent).join()`); same != "caja,caja" {
		t.Errorf("what is equal: %q", same)
	}
	b.world.mu.Lock() // one of them changes meanwhile
	for id, r := range b.runs {
		if r.Plan.Goal == "Pedir para sur" {
			r.Digest = "moved"
			b.runs[id] = r
		}
	}
	b.world.mu.Unlock()
	if sum := eval[string](b, `document.getElementById("review-sum").textContent + "|" + document.getElementById("review-yes").className + "|" + [...document.querySelectorAll(".reviewed-of")].map(e => e.innerText).sort()`); sum != "2 planes · 2 pasos escriben · 0 destruyen|button primary|Sala norte,Sala sur" {
		t.Errorf("the foot of the dialog: %q", sum)
	}
	b.click(`[data-action="decide-all"][data-yes="yes"]`)
	b.until(`document.querySelectorAll("#review .reviewed").length === 1 && document.querySelector("#review .problem").innerText.includes("ha cambiado")`)
	b.until(`[...document.querySelectorAll(".toast")].some(t => t.innerText === "1 confirmado · 1 sin decidir")`)
	b.click(`[data-action="review-close"]`)
	// What was confirmed stays, says what became of it, and leads to its card.
	b.until(`document.querySelector(".wait[data-decided] summary .status")?.dataset.state === "done" && document.querySelector(".wait[data-decided] .wait-end a").getAttribute("href") === "/?chat=w0"`)
	if left := eval[int](b, `document.querySelectorAll(".wait:not([data-decided]) .wait-pick").length + 10 * document.querySelectorAll(".wait[data-decided] .wait-pick").length`); left != 1 {
		t.Errorf("%d entries can still be chosen", left)
	}
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if len(b.decisions) != 2 || b.decisions[0]["decision"] != "confirm" || b.decisions[0]["step_id"] != nil {
		t.Errorf("%v", b.decisions)
	}
}
