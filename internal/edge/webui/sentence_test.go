package webui

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"

	"github.com/chromedp/chromedp"
)

var markup = regexp.MustCompile(`<[^>]*>`)

// spoken returns the values of a sentence as text: "name=value" or "name=value (sent)".
func spoken(s sentence) string {
	var all []string
	for _, v := range s.Values {
		text := string(v.Name) + "=" + string(v.Value)
		if v.Sent != "" {
			text += " (" + string(v.Sent) + ")"
		}
		all = append(all, markup.ReplaceAllString(text, ""))
	}
	return strings.Join(all, "; ")
}

func TestSentencesSayWhatIsSent(t *testing.T) {
	long := strings.Repeat("largo ", 40)
	many := `{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"a10":1,"a11":1,"total":7}`
	for _, c := range []struct {
		template, path, query, body string
		want                        string
		whole                       bool
	}{
		{"/rooms", "/rooms", `{"freeOn":"2026-03-06","capacity":6}`, "", "free on=viernes 6 de marzo; capacity=6", true},
		{"/rooms/{roomId}/x-{n}", "/rooms/norte%201/x-7", "", `null`, "room id=norte 1; x n=x-7", true},
		{"/a", "/a", "", `{"at":"2027-01-02T10:00:30+01:00","on":"2026-02-30","t":"2026-03-06T09:05"}`, "at=sábado 2 de enero de 2027, 10:00:30 UTC+01:00; on=2026-02-30; t=viernes 6 de marzo, 09:05", true},
		{"/a", "/a", "", `{"paid":true,"late":false,"note":null,"who":"","list":[],"more":{}}`, "paid=sí; late=no; note=vacío; who=vacío; list=vacío; more=vacío", true},
		{"/a", "/a", "", `{"amount":1234567.50,"ticket":9007199254740993,"rate":0.5,"big":1e400}`, "amount=1.234.567,50; ticket=9007199254740993; rate=0,5; big=1e400", true},
		{"/a", "/a", "", `{"address":{"city":"Lugo","geo":{"lat":43.01,"far":{"x":1}}}}`, "address city=Lugo; address geo lat=43,01; address geo far=(ver la petición)", false},
		{"/a", "/a", "", `{"tags":["a","b"],"rows":[{"x":1},{"x":2}]}`, "tags=a, b; rows=2 elementos", false},
		{"/a", "/a", "", `{"text":"` + long + `"}`, "text=" + long[:139] + "…", false},
		{"/a", "/a", "", many, "a1=1; a2=1; a3=1; a4=1; a5=1; a6=1; a7=1; a8=1; a9=1; a10=1; total=7", false},
		{"/a", "/a", "", `{"id":"${s1.body.rooms[2].id}","all":"${s1.body}","mix":"Sala ${s1.body.name}"}`, "id=id del n.º 3 de rooms, en el paso 1; all=lo que responde en el paso 1; mix=Sala ${s1.body.name}", true},
		{"/a/{id}", "/a/${s1.body[\"x/y\"]}", "", "", "", false},
		{"", "", "", `["x",1]`, "=x, 1", true},
		{"/a", "/a", "", `{"room":"norte\u202e"}`, "room=norte⟦U+202E⟧", true},
	} {
		s := plan.Step{ID: plan.EffectOf("s2"), Title: "x", Method: "POST", Path: c.path, Query: json.RawMessage(c.query), Body: json.RawMessage(c.body)}
		run := plan.Run{Status: plan.Draft, Plan: plan.Plan{Steps: []plan.Step{{ID: plan.EffectOf("s1"), Title: "Primero"}, s}}}
		a := newBuilder(run, &card{}, words{tag: locale.Spanish}, noon)
		got := a.sentence(s, plan.Binding{Template: c.template})
		if text := spoken(got); text != c.want || got.Whole != c.whole {
			t.Errorf("%s %s%s:\n%s, whole %v; want\n%s", c.path, c.query, c.body, text, got.Whole, c.want)
		}
	}
}

// TestSentencesNameThings: by the name that the answer had from which the value was read, and by the operation's summary
// where the title is another.
func TestSentencesNameThings(t *testing.T) {
	s := plan.Step{ID: plan.EffectOf("s1"), Title: "Ver el tiempo", Method: "POST", Path: "/r", Body: json.RawMessage(`{"room":"norte","twin":"norte","of":"${s0.body.id}"}`), Targets: []plan.Target{{Ref: "s0.body.id", Label: "Ana", Value: json.RawMessage(`7`)}}}
	run := plan.Run{Plan: plan.Plan{Steps: []plan.Step{s}}, Taken: []plan.Taken{{StepID: s.ID, Where: "body.room", Value: "norte", Label: "Sala <Norte>", Service: "Salas"}}}
	a := newBuilder(run, &card{}, words{tag: locale.Spanish}, noon)
	got := a.sentence(s, plan.Binding{Template: "/r", Summary: "Borra todo"})
	if text := spoken(got); text != "room=Sala &lt;Norte&gt; (norte); twin=norte; of=Ana (7)" || got.What != "Borra todo" || got.Values[0].From != "Así lo llama Salas" {
		t.Errorf("%s, %q, %q", text, got.What, got.Values[0].From)
	}
	if got := a.sentence(s, plan.Binding{Template: "/r", Summary: "ver el TIEMPO"}); got.What != "" {
		t.Errorf("the title is said twice: %q", got.What)
	}
}

// TestSentencesSpeakAsTheDocument: its order and its labels, with the name that is sent beside them. A plan made before has neither.
func TestSentencesSpeakAsTheDocument(t *testing.T) {
	s := plan.Step{ID: plan.EffectOf("s1"), Title: "x", Method: "PATCH", Path: "/r/r-1", Query: json.RawMessage(`{"dry":true}`), Body: json.RawMessage(`{"at":{"city":"Lugo"},"date":"2026-03-06","price":1500.5,"room_id":"norte","zz":1}`)}
	a := newBuilder(plan.Run{Status: plan.Draft, Plan: plan.Plan{Steps: []plan.Step{s}}}, &card{}, words{tag: locale.Spanish}, noon)
	b := plan.Binding{Template: "/r/{reservation_id}", Names: []ref.Named{
		{Name: "reservation_id", Label: "Reserva"}, {Name: "dry"}, {Name: "room_id", Label: "Sala\u202e"}, {Name: "date", Label: "Fecha"}, {Name: "at", Label: "Lugar"}, {Name: "price", Label: "Cuánto"},
	}}
	got := a.sentence(s, b)
	if text := spoken(got); text != "Reserva=r-1; dry=sí; Sala⟦U+202E⟧=norte; Fecha=viernes 6 de marzo; Lugar city=Lugo; Cuánto=1500,5; zz=1" {
		t.Error(text)
	}
	if v := got.Values; v[0].Called != "reservation_id" || v[1].Called != "" || v[4].Called != "at city" || !v[5].Money {
		t.Errorf("%+v", v)
	}
	b.Names = nil
	if text := spoken(a.sentence(s, b)); text != "reservation id=r-1; dry=sí; at city=Lugo; date=viernes 6 de marzo; price=1500,5; room id=norte; zz=1" {
		t.Error(text)
	}
}

// TestSentencesDescribeThings: with what was read of them, and with what a run that is over chose.
func TestSentencesDescribeThings(t *testing.T) {
	fact := func(name, value string) ref.Fact { return ref.Fact{Name: name, Value: json.RawMessage(value)} }
	first := plan.Step{ID: plan.EffectOf("s1"), Title: "Salas", Method: "GET", Path: "/rooms"}
	s := plan.Step{
		ID: plan.EffectOf("s2"), Title: "Reserva", Method: "POST", Path: "/r", Body: json.RawMessage(`{"room":"norte","next":"${s1.body.items[0].id}","seen":"${s1.body.items[1].id}","pin":"${s1.body.token}"}`),
		Targets: []plan.Target{{Ref: "s1.body.items[1].id", Label: "Sala Sur, 8, 45", Value: json.RawMessage(`"sur"`), About: []ref.Fact{fact("name", `"Sala Sur"`), fact("price", "45")}}},
	}
	run := plan.Run{Status: plan.Draft, Plan: plan.Plan{Steps: []plan.Step{first, s}, Bindings: []plan.Binding{{StepID: first.ID, AnswerNames: []ref.Named{{Name: "price", Label: "precio"}, {Name: "capacity", Label: "capacidad"}}}}}, Taken: []plan.Taken{
		{StepID: s.ID, Where: "body.room", Value: "norte", Label: "Sala Norte", Service: "Salas", Names: []ref.Named{{Name: "pricePerHour", Label: "precio por hora"}}, About: []ref.Fact{fact("name", `"Sala Norte"`), fact("pricePerHour", "30"), fact("day", `"2026-03-06"`)}},
		{StepID: s.ID, Where: "body.gone", Value: "ida", Service: "Salas", Gone: true, About: []ref.Fact{fact("price", "99")}},
	}}
	said := func() string {
		got := newBuilder(run, &card{}, words{tag: locale.Spanish}, noon).sentence(s, plan.Binding{Template: "/r"})
		text := spoken(got)
		for _, thing := range got.Things {
			text += " | " + string(thing.Name) + ": " + spoken(sentence{Values: thing.Facts})
		}
		for _, cost := range got.costs() {
			text += " $" + string(cost.Value)
		}
		for _, v := range got.Values {
			if v.Later {
				text += " later:" + string(v.Name)
			}
		}
		return markup.ReplaceAllString(text, "")
	}
	things := " | Sala Norte: precio por hora=30; day=viernes 6 de marzo | Sala Sur: precio=45"
	want := `room=Sala Norte (norte); next=id del primero de items, en el paso 1; seen=Sala Sur (sur); pin=token en el paso 1` + things + " $precio por hora 30 $precio 45 later:next later:pin"
	if got := said(); got != want {
		t.Errorf("a draft says\n%s, want\n%s", got, want)
	}
	run.Status = plan.Done
	run.Steps = []plan.StepState{{StepID: first.ID, Status: plan.StepDone, Result: &plan.Result{Status: 200, Body: json.RawMessage(`{"items":[{"id":"este","name":"Sala Este","capacity":4},{"id":"sur"}],"token":"t-1"}`)}}}
	want = `room=Sala Norte (norte); next=Sala Este (este); seen=Sala Sur (sur); pin=token en el paso 1 | Sala Este: capacidad=4` + things + " $precio por hora 30 $precio 45"
	if got := said(); got != want {
		t.Errorf("a run says\n%s, want\n%s", got, want)
	}
	run.Steps[0].Result.Truncated = true
	if got := said(); !strings.Contains(got, "next=id del primero") {
		t.Errorf("of a result that is not whole: %s", got)
	}
}

// TestALineSaysWhatAnIDMeans, when nothing has a name.
func TestALineSaysWhatAnIDMeans(t *testing.T) {
	s := plan.Step{ID: plan.EffectOf("s1"), Method: "DELETE", Path: "/r/r-1", Query: json.RawMessage(`{"room":"norte"}`)}
	fact := func(name, value string) ref.Fact { return ref.Fact{Name: name, Value: json.RawMessage(value)} }
	about := []ref.Fact{fact("room_name", `"Sala Norte"`), fact("date", `"2026-03-06"`), fact("a", "1"), fact("b", "2"), fact("c", "3"), fact("d", "4"), fact("e", "5")}
	run := plan.Run{Plan: plan.Plan{Steps: []plan.Step{s}}, Taken: []plan.Taken{
		{StepID: s.ID, Where: "path", Value: "r-1", About: about, Own: true},
		{StepID: s.ID, Where: "query.room", Value: "norte", Label: "Sala Norte", About: []ref.Fact{fact("name", `"Sala Norte"`), fact("floor", "1")}},
	}}
	says := newBuilder(run, &card{}, words{tag: locale.Spanish}, noon).sentence(s, plan.Binding{Template: "/r/{id}"})
	if text := spoken(sentence{Values: says.inOneLine()}); text != "id=r-1; room=Sala Norte (norte); room name=Sala Norte; date=viernes 6 de marzo; a=1; b=2; c=3; d=4" {
		t.Error(text)
	}
}

// TestCardsSayWhatAnswersCost: of a step that changed something.
func TestCardsSayWhatAnswersCost(t *testing.T) {
	body := json.RawMessage(`{"id":"r-1","price":30,"of":{"fee":2}}`)
	for _, c := range []struct{ method, tool, body, want string }{
		{"POST", "", string(body), "price 30"},
		{"GET", "", string(body), ""},
		{"", "book", `{"content":[],"structuredContent":` + string(body) + `}`, "price 30"},
		{"POST", "", `[1]`, ""},
		{"POST", "", `{"price":45}`, ""},
	} {
		s := plan.Step{ID: plan.EffectOf("s1"), Title: "x", Method: c.method, Tool: c.tool, Path: "/r", Body: json.RawMessage(`{"price":45}`)}
		run := plan.Run{ID: "r", Status: plan.Done, Plan: plan.Plan{Steps: []plan.Step{s}}, Steps: []plan.StepState{{StepID: s.ID, Status: plan.StepDone, Result: &plan.Result{Status: 201, Body: json.RawMessage(c.body)}}}}
		var got []string
		for _, cost := range newCard(run, nil, locale.Spanish, noon).Steps[0].Costs[1:] { // the first is what is sent
			got = append(got, string(cost.Value))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// manyOrders is a plan of n steps that differ in some values.
func manyOrders(n int) plan.Plan {
	p := roomPlan(time.Now())
	p.Goal, p.Steps, p.Bindings = "Pedir mucho", nil, nil
	for i := range n {
		id := plan.EffectOf("s" + strconv.Itoa(i+1))
		p.Steps = append(p.Steps, plan.Step{ID: id, Title: "Pedido " + strconv.Itoa(i+1), MCPID: "rooms", Method: "POST", Path: "/orders", Body: json.RawMessage(fmt.Sprintf(`{"client":"c-%d","count":%d,"unit":"caja"}`, i, i+1)), Needs: []string{}, Risk: plan.Write})
		p.Bindings = append(p.Bindings, plan.Binding{StepID: id, MCPID: "rooms", ServerName: "Pedidos", BaseURL: roomsURL, Template: "/orders", Fingerprint: "f", Summary: "Crea un pedido"})
	}
	return p
}

func TestEqualStepsAreATable(t *testing.T) {
	c := newCard(draft(manyOrders(12)), nil, locale.Spanish, time.Now())
	if len(c.Rows) != 1 || c.Rows[0].Group == nil {
		t.Fatalf("%d rows", len(c.Rows))
	}
	g := c.Rows[0].Group
	if fmt.Sprint(g.Names) != "[client count]" || len(g.Same) != 1 || len(g.Rows) != 12 || g.Rows[11].Values[1].Value != "12" {
		t.Errorf("%+v", g)
	}
	for name, change := range map[string]func(*plan.Step){
		"method":   func(s *plan.Step) { s.Method, s.Risk = "DELETE", plan.Destructive },
		"approval": func(s *plan.Step) { s.Ask = &plan.Ask{Reason: "x"} },
		"undo":     func(s *plan.Step) { s.Undo = &plan.Undo{} },
		"members":  func(s *plan.Step) { s.Body = json.RawMessage(`{"client":"c","count":1,"unit":"caja","gift":true}`) },
		"hidden":   func(s *plan.Step) { s.Body = json.RawMessage(`{"client":"c\u202e","count":1,"unit":"caja"}`) },
		"needs":    func(s *plan.Step) { s.Needs = []string{"s1"} },
	} {
		p := manyOrders(5)
		change(&p.Steps[2])
		if c := newCard(draft(p), nil, locale.Spanish, time.Now()); len(c.Rows) != 5 {
			t.Errorf("%s: a step that differs is in the table: %d rows", name, len(c.Rows))
		}
	}
	r := draft(manyOrders(12))
	r.Status = plan.Running
	if c := newCard(r, nil, locale.Spanish, time.Now()); len(c.Rows) != 12 {
		t.Errorf("a run has %d rows", len(c.Rows))
	}
}

func TestGraphsShowWhatNeedsWhat(t *testing.T) {
	g := graphOf([]cardStep{{Number: 1}, {Number: 2, Needs: []int{1}}, {Number: 3, Needs: []int{1}}, {Number: 4, Needs: []int{2, 3}}, {Number: 5}})
	at := map[string]bool{}
	for _, n := range g.Nodes {
		at[fmt.Sprint(n.X, n.Y)] = true
	}
	if len(at) != 5 || len(g.Edges) != 4 || g.Nodes[3].X <= g.Nodes[2].X || g.Nodes[1].X != g.Nodes[2].X || g.Nodes[4].X != g.Nodes[0].X || g.Dots {
		t.Errorf("%+v", g)
	}
	if graphOf(make([]cardStep, 1)) != nil || graphOf([]cardStep{{Needs: []int{2}}, {Needs: []int{9}}}) == nil {
		t.Error("a graph of one step, or none of two")
	}
	fan := make([]cardStep, 50)
	for i := range fan[1:] {
		fan[i+1].Needs = []int{1}
	}
	g, at = graphOf(fan), map[string]bool{}
	for _, n := range g.Nodes {
		at[fmt.Sprint(n.X, n.Y)] = true
		if n.X < 11 || n.X > g.Width-11 || n.Y < 11 || n.Y > g.Height-11 {
			t.Errorf("%+v is not in %d × %d", n, g.Width, g.Height)
		}
	}
	if len(at) != 50 || g.Width < g.Height {
		t.Errorf("50 steps have %d places in %d × %d", len(at), g.Width, g.Height)
	}
}

// TestALongPlanIsReadBeforeItIsConfirmed: the foot is in sight all the time, counts what was not, and a confirmation shows
// that first.
func TestALongPlanIsReadBeforeItIsConfirmed(t *testing.T) {
	b := open(t, 1366, 768)
	p := manyOrders(9)
	for i := range p.Steps { // so that they are no table
		p.Steps[i].Body = json.RawMessage(fmt.Sprintf(`{"m%d":1}`, i))
	}
	b.world.mu.Lock()
	b.chats["long"] = conversation.Chat{ID: "long", Title: "Larga"}
	b.propose("long", p)
	b.world.mu.Unlock()
	b.visit("/?chat=long")
	b.see(confirmButton)
	b.until(`document.querySelector("[data-unseen]").innerText.startsWith("Quedan")`)
	inSight := `(() => { const { top, bottom } = document.querySelector('` + confirmButton + `').getBoundingClientRect(); return top > 0 && bottom <= innerHeight && document.elementFromPoint(700, top - 4) !== null })()`
	if !eval[bool](b, inSight) {
		t.Error("the button to confirm is out of sight")
	}
	b.picture("long")
	b.until(`!document.querySelector('` + confirmButton + `').disabled`)
	b.click(confirmButton)
	b.until(`document.activeElement.matches(".step")`)
	if now := b.theRun(0); now.Status != plan.Draft {
		t.Errorf("a plan that was not read is %s", now.Status)
	}
	for range 9 { // reading on: a step that the keyboard jumped over is shown by the next press
		b.do(chromedp.KeyEvent("\t"))
		eval[bool](b, `(document.getElementById("scroller").scrollBy(0, 300), true)`)
		eval[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60, true)))`)
	}
	for range 9 {
		if !eval[bool](b, `document.querySelector("[data-unseen]").hidden`) {
			b.click(confirmButton)
			eval[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60, true)))`)
		}
	}
	b.until(`document.querySelector("[data-unseen]").hidden`)
	b.do(chromedp.Sleep(time.Second)) // a press at once would be for what was just shown
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-draft]") === null`)

	b.world.mu.Lock()
	b.chats["other"] = conversation.Chat{ID: "other", Title: "Otra"}
	p.ID, p.Goal = "01JPLAN0000000000000000009", "Otro"
	b.propose("other", p)
	b.world.mu.Unlock()
	b.visit("/?chat=other")
	b.until(`!document.querySelector("[data-unseen]").hidden && !document.querySelector('` + confirmButton + `').disabled`)
	b.click(`[data-action="seen"]`)
	b.until(`document.activeElement.dataset.action === "confirm-run"`)
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-draft]") === null`)
}

// TestATableIsReadRowByRow: whoever jumps over its rows is shown them, by a press for each part of the screen.
func TestATableIsReadRowByRow(t *testing.T) {
	b := open(t, 1366, 768)
	b.world.mu.Lock()
	b.chats["table"] = conversation.Chat{ID: "table", Title: "Tabla"}
	b.propose("table", manyOrders(49))
	b.world.mu.Unlock()
	b.visit("/?chat=table")
	b.see(confirmButton)
	left := func() int {
		return eval[int](b, `Number(document.querySelector("[data-unseen]").innerText.match(/\d+/)?.[0] || 0)`)
	}
	b.until(`document.querySelector("[data-unseen]").innerText.startsWith("Quedan")`)
	eval[bool](b, `new Promise((done) => { const all = document.getElementById("scroller"); all.scrollTo({ top: all.scrollHeight, behavior: "instant" }); setTimeout(done, 300, true) })`)
	if n := left(); n < 10 {
		t.Errorf("%d rows are left after a jump to the end", n)
	}
	b.picture("table")
	presses := 0
	for ; presses < 20 && left() > 0; presses++ {
		b.click(confirmButton)
		eval[bool](b, `new Promise((done) => setTimeout(done, 800, true))`)
	}
	if now := b.theRun(0); now.Status != plan.Draft || presses < 2 {
		t.Errorf("after %d presses the plan is %s", presses, now.Status)
	}
	b.click(confirmButton)
	b.until(`document.querySelector(".card[data-draft]") === null`)
}

// TestWhatGrowsIsReadFurther: a fold that opens and a window that narrows make a request taller, and it has marks along all of it.
func TestWhatGrowsIsReadFurther(t *testing.T) {
	b := open(t, 1366, 768)
	p := manyOrders(1)
	p.Steps[0].Body = json.RawMessage(fmt.Sprintf(`{"text":%q}`, strings.Repeat("una línea que se lee ", 400)))
	b.world.mu.Lock()
	b.chats["tall"] = conversation.Chat{ID: "tall", Title: "Larga"}
	b.propose("tall", p)
	b.world.mu.Unlock()
	b.visit("/?chat=tall")
	b.see(confirmButton)
	covered := `(() => { const ends = [...document.querySelectorAll(".card[data-draft] .step-end:not([data-along])")];
		return ends.every((end) => end.offsetTop - Number(end.previousElementSibling?.dataset.along || 0) <= 150) && ends.some((end) => end.offsetTop > 600) })()`
	marks := func() int {
		return eval[int](b, `document.querySelectorAll(".card[data-draft] .step-end").length`)
	}
	fold := func(hidden bool) { // as a card in a closed fold
		eval[bool](b, fmt.Sprintf(`(document.querySelector(".card[data-draft] .steps").hidden = %t, true)`, hidden))
	}
	fold(true)
	eval[bool](b, `(document.querySelectorAll(".step-end[data-along]").forEach((mark) => mark.remove()), true)`)
	closed := marks()
	fold(false)
	b.until(covered)
	opened := marks()
	b.do(chromedp.EmulateViewport(400, 768))
	b.until(`document.documentElement.clientWidth === 400`)
	b.until(covered)
	if narrow := marks(); closed >= opened || opened >= narrow {
		t.Errorf("%d marks while closed, %d while open, %d while narrow", closed, opened, narrow)
	}
	eval[bool](b, `new Promise((done) => { const all = document.getElementById("scroller"); all.scrollTo({ top: all.scrollHeight, behavior: "instant" }); setTimeout(done, 300, true) })`)
	if eval[bool](b, `document.querySelector("[data-unseen]").hidden`) {
		t.Error("a jump over what grew is taken for reading")
	}
}

// TestAYesIsTypedBesideWhatWasSeen: a yes in the composer, named or bare, shows the first step that was not on the screen,
// and stays; another message is sent.
func TestAYesIsTypedBesideWhatWasSeen(t *testing.T) {
	b := open(t, 1366, 768)
	p := manyOrders(9)
	for i := range p.Steps {
		p.Steps[i].Body = json.RawMessage(fmt.Sprintf(`{"m%d":1}`, i))
	}
	b.world.mu.Lock()
	b.chats["typed"] = conversation.Chat{ID: "typed", Title: "Larga"}
	b.propose("typed", p)
	b.world.mu.Unlock()
	for _, yes := range []string{"sí", "confirmo", "👍"} {
		b.visit("/?chat=typed")
		b.until(`document.querySelector("[data-unseen]").innerText.startsWith("Quedan")`)
		b.say(yes)
		b.until(`document.getElementById("announce").textContent.startsWith("Quedan")`)
		if left := eval[string](b, `document.getElementById("message").value`); left != yes {
			t.Errorf("%q was held, and the composer has %q", yes, left)
		}
		eval[bool](b, `((m) => { m.value = ""; m.dispatchEvent(new Event("input", {bubbles: true})); return true })(document.getElementById("message"))`)
	}
	if n := eval[int](b, `document.querySelectorAll(".line.user").length`); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	if now := b.theRun(0); now.Status != plan.Draft {
		t.Errorf("a plan that was not read is %s", now.Status)
	}
	b.click(`[data-action="seen"]`)
	for range 9 {
		if !eval[bool](b, `document.querySelector("[data-unseen]").hidden`) {
			b.click(confirmButton)
			eval[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60, true)))`)
		}
	}
	b.until(`document.querySelector("[data-unseen]").hidden`)
	b.say("confirmo")
	b.until(`document.querySelectorAll(".line.user").length === 1`)
}

// TestUntitledStepsAreTitledInTheReadersLanguage: only a step that has its call for a title, and the plan is not changed.
func TestUntitledStepsAreTitledInTheReadersLanguage(t *testing.T) {
	for _, c := range []struct{ method, template, title, es, en string }{
		{"GET", "/api/v1/rooms", "GET /api/v1/rooms", "Consulta rooms", "Look up rooms"},
		{"GET", "/rooms/{id}", "GET /rooms/{id}", "Consulta un elemento de rooms", "Look up one of rooms"},
		{"POST", "/rooms/{roomId}/roomBookings", "POST /rooms/7/roomBookings", "Crea en rooms › room bookings", "Create in rooms › room bookings"},
		{"POST", "/orders/{id}/cancel", "POST /orders/{id}/cancel", "Envía a orders › cancel", "Send to orders › cancel"},
		{"PATCH", "/rooms/{id}", "PATCH /rooms/{id}", "Cambia un elemento de rooms", "Change one of rooms"},
		{"DELETE", "/rooms", "DELETE /rooms", "Borra rooms", "Delete rooms"},
		{"GET", "/{id}", "GET /{id}", "GET /{id}", "GET /{id}"},
		{"GET", "/rooms", "Mira las salas", "Mira las salas", "Mira las salas"},
	} {
		s := plan.Step{ID: plan.EffectOf("s1"), Title: c.title, Method: c.method, Path: strings.NewReplacer("{roomId}", "7").Replace(c.template)}
		run := plan.Run{ID: "r1", Status: plan.Draft, Plan: plan.Plan{Steps: []plan.Step{s}, Bindings: []plan.Binding{{StepID: s.ID, Template: c.template}}}}
		for tag, want := range map[locale.Tag]string{locale.Spanish: c.es, locale.English: c.en} {
			card := newCard(run, nil, tag, noon)
			if got := card.Steps[0].Plain; got != want || run.Plan.Steps[0].Title != c.title {
				t.Errorf("%s %s, %s: %q and not %q", c.method, c.template, tag, got, want)
			}
			if wait := titleOfWait(plan.ListedWait{Wait: plan.Wait{StepID: s.ID}, Run: plan.Head{Run: run}}, tag); wait != want {
				t.Errorf("what waits is %q", wait)
			}
		}
	}
}
