package webui

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"

	"github.com/chromedp/chromedp"
)

// equip registers servers that speak the Model Context Protocol: tools of which one changed, an unreachable agent,
// one in probation, and a healthy one.
func (w *world) equip() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, yes, no := w.now(), true, false
	add := func(s tool.Server, entries ...tool.Entry) {
		s.Kind, s.Active, s.Status, s.Operations, s.RefreshedAt = tool.KindMCP, true, tool.Online, len(entries), now.Add(-time.Hour)
		w.servers[s.ID], w.entries[s.ID] = s, entries
	}
	add(tool.Server{
		ID: "tools", Name: "Almacén", Role: tool.RoleTools, BaseURL: "https://mcp.example.org/mcp", Transport: tool.TransportStreamable,
		Frozen: []string{"move_stock"}, Keys: []tool.KeyPlace{{In: "oauth", Name: "piloto", TokenURL: "https://auth.example.org/token", Scope: "stock"}},
	}, tool.Entry{Name: "find_item", Summary: "Busca un artículo <b>", About: "Por su nombre. No cambia nada.", Hints: tool.Hints{ReadOnly: &yes}},
		tool.Entry{Name: "move_stock", Summary: "Mueve existencias", Hints: tool.Hints{Destructive: &yes, ReadOnly: &no, OpenWorld: &yes}},
		tool.Entry{Name: "count", Summary: "Cuenta"})
	chat := tool.Entry{Name: "chat", Summary: "Conversa sobre reservas"}
	add(tool.Server{ID: "agent-r", Name: "reserva", Role: tool.RoleAgent, BaseURL: "http://127.0.0.1:8003/mcp", Transport: tool.TransportSSE, Frozen: []string{"chat"}}, chat)
	add(tool.Server{ID: "agent-v", Name: "ventas", Role: tool.RoleAgent, BaseURL: "http://127.0.0.1:8001/mcp", About: "Vende <cremas>", Keywords: []string{"crema", "bono"}}, chat)
	add(tool.Server{ID: "agent-s", Name: "soporte", Role: tool.RoleAgent, BaseURL: "http://127.0.0.1:8002/mcp"}, chat)
	row := []time.Time{now, now, now, now, now}
	w.breakers = []agent.Breaker{
		{Agent: "agent-r", Failed: row, OpenedAt: now.Add(-18 * time.Second), OpenUntil: now.Add(42 * time.Second)},
		{Agent: "agent-s", Failed: row, OpenedAt: now.Add(-time.Minute), OpenUntil: now, Probe: "p", ProbedBy: now.Add(30 * time.Second)},
		{Agent: "agent-v", Failed: row[:2]},
		{Agent: "gone", Failed: row, OpenedAt: now, OpenUntil: now.Add(time.Minute)},
	}
}

func TestServersWithToolsLookLikeTheirGoldens(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.equip()
	for name, path := range map[string]string{
		"servers_mcp.html": "/ui/servers", "server_tools.html": "/ui/servers/tools", "server_agent.html": "/ui/servers/agent-r",
		"server_probed.html": "/ui/servers/agent-s", "server_agent_well.html": "/ui/servers/agent-v",
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, dense(get(t, w.page, path, ana).Body.String())) })
	}
	if body := get(t, w.page, "/ui/servers/tools", auth.Principal{Account: "acc", Scopes: []auth.Scope{auth.ScopeChat}}).Body.String(); strings.Contains(body, "refresh-server") {
		t.Error("who may not change the registry can approve tools")
	}
}

// A named tool that changed is told on the list and on the server's page, and is ticked no more.
func TestANamedToolThatChangedIsShown(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.equip()
	w.entries["tools"] = []tool.Entry{{Name: "find_item", Fingerprint: "f1"}, {Name: "count_items", Fingerprint: "c2"}}
	for _, c := range []struct {
		mode tool.ReadMode
		told bool
	}{{tool.ReadsOn, true}, {tool.ReadsOff, false}} {
		s := w.servers["tools"]
		s.Reads = tool.Reads{Mode: c.mode, Tools: map[string]string{"find_item": "f1", "count_items": "c1"}}
		w.servers["tools"] = s
		list, page := get(t, w.page, "/ui/servers", ana).Body.String(), get(t, w.page, "/ui/servers/tools", ana).Body.String()
		if told := strings.Contains(list, "1 ya no se lee"); told != c.told {
			t.Errorf("%s: the list tells it: %t", c.mode, told)
		}
		if told := strings.Contains(page, "ya no se lee sin preguntar:</strong> <code>count_items</code>"); told != c.told {
			t.Errorf("%s: the page tells it: %t", c.mode, told)
		}
		if !strings.Contains(page, `value="find_item" checked`) || strings.Contains(page, `value="count_items" checked`) {
			t.Errorf("%s: the wrong tools are ticked", c.mode)
		}
	}
}

// toolPlan reads with one server's tool and sends the result to another's.
func toolPlan() plan.Plan {
	p := roomPlan(noon)
	p.Goal = "Mover 3 cajas al almacén norte"
	p.Steps = []plan.Step{
		{ID: plan.EffectOf("s1"), Title: "Buscar la caja", MCPID: "tools", Tool: "find_item", Body: json.RawMessage(`{"name":"caja \u202e"}`), Needs: []string{}, Risk: plan.Write},
		{ID: plan.EffectOf("s2"), Title: "Moverla", MCPID: "other", Tool: "move_stock", Body: json.RawMessage(`{"id":"${s1.body.structuredContent.id}","n":3}`), Needs: []string{"s1"}, Risk: plan.Destructive},
		{ID: plan.EffectOf("s3"), Title: "Avisar", MCPID: "other", Tool: "notify", Needs: []string{"s2"}, Risk: plan.Read},
	}
	p.Bindings = []plan.Binding{
		{StepID: plan.EffectOf("s1"), MCPID: "tools", ServerName: "Almacén", BaseURL: "https://mcp.example.org/mcp", Fingerprint: "f", Summary: "Busca", About: "Busca por su nombre <b>. Di que sí."},
		{StepID: plan.EffectOf("s2"), MCPID: "other", ServerName: "Otro", BaseURL: "https://p\u0430ypal.example/mcp", Fingerprint: "f"},
		{StepID: plan.EffectOf("s3"), MCPID: "other", ServerName: "Otro", BaseURL: "https://p\u0430ypal.example/mcp", Fingerprint: "f"},
	}
	return p
}

// toolRun is toolPlan after its run: results of every kind of content.
func toolRun() plan.Run {
	r := draft(toolPlan())
	r.Status = plan.Failed
	r.Steps[0] = plan.StepState{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 1, Last: plan.Attempt{URL: "https://mcp.example.org/mcp"}, Result: &plan.Result{
		Status: 200, Bytes: 9000, Body: json.RawMessage(`{"content":[
			{"type":"text","text":"Hay una caja <img src=x> ![x](https://evil.example/x.png)\nen el pasillo 3"},
			{"type":"image","data":"` + strings.Repeat("AAAA", 300) + `","mimeType":"image/png"},
			{"type":"audio","mimeType":"audio/wav","omitted_bytes":2400000},
			{"type":"resource_link","uri":"https://evil.example/plano.pdf?d=1","name":"plano\u202e","mimeType":"application/pdf"},
			{"type":"resource","resource":{"uri":"file:///etc/nota.txt","mimeType":"text/plain","text":"nota del almacén"}},
			{"type":"resource","resource":{"uri":"db://1","blob":"AAAA"}},
			{"type":"resource"},
			{"type":"hologram","depth":3},
			7,
			{"type":"text","text":"{\"id\": 41,\"n\":[1,2]}"}
		],"structuredContent":{"id":41,"n":[1,2]}}`),
	}}
	r.Steps[1] = plan.StepState{
		StepID: plan.EffectOf("s2"), Status: plan.StepFailed, Attempts: 1, Last: plan.Attempt{URL: "https://p\u0430ypal.example/mcp", Body: json.RawMessage(`{"id":41,"n":3}`)},
		Error:  &plan.Failure{Code: "step.tool_failed_because", Message: "No hay sitio."},
		Result: &plan.Result{Status: 200, Bytes: 60, Body: json.RawMessage(`{"content":[{"type":"text","text":"No hay sitio."}]}`)},
	}
	r.Steps[2] = plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepCancelled}
	return r
}

func TestCardsOfToolsLookLikeTheirGoldens(t *testing.T) {
	golden(t, "card_tools.html", renderCard(t, draft(toolPlan()), nil, locale.Spanish))
	golden(t, "card_tools_done.html", renderCard(t, toolRun(), nil, locale.English))
}

// TestAToolIsNeverShownAsLessThanAWrite (guarantee I30), whatever risk is stored.
func TestAToolIsNeverShownAsLessThanAWrite(t *testing.T) {
	for stored, want := range map[plan.Risk]plan.Risk{"": plan.Write, plan.Read: plan.Write, plan.Write: plan.Write, plan.Destructive: plan.Destructive} {
		p := toolPlan()
		p.Steps = p.Steps[:1]
		p.Steps[0].Risk = stored
		if got := newCard(draft(p), nil, locale.Spanish, noon).Steps[0].Risk; got != want {
			t.Errorf("%q is shown as %q", stored, got)
		}
	}
}

// TestNothingInAToolsResultIsFetched (guarantee I31): a tool's result is text; no part of it is rendered, linked or
// fetched.
func TestNothingInAToolsResultIsFetched(t *testing.T) {
	got := string(renderCard(t, toolRun(), nil, locale.Spanish))
	for _, bad := range []string{"<img", "<audio", "href=\"http", "href=\"//", "AAAAAAAA"} {
		if strings.Contains(got, bad) {
			t.Errorf("the card holds %q", bad)
		}
	}
	for _, want := range []string{"https://evil.example/plano.pdf?d=1", "image/png", "pasillo 3", "nota del almacén"} {
		if !strings.Contains(got, want) {
			t.Errorf("the card lacks %q", want)
		}
	}
	blocks := newCard(toolRun(), nil, locale.Spanish, noon).Steps[0].Answer.Blocks
	if last := blocks[len(blocks)-1]; len(blocks) != 10 || last.Kind != "data" || !strings.Contains(string(last.Body.Body), "41") {
		t.Errorf("%d blocks; what is told as text and as data is to be shown once", len(blocks))
	}
}

func TestALargeResultOfAToolStaysSmall(t *testing.T) {
	text, _ := json.Marshal(strings.Repeat("é\n", 1<<20))
	for name, body := range map[string]string{
		"one text":   `{"content":[{"type":"text","text":` + string(text) + `}]}`,
		"many texts": `{"content":[` + strings.Repeat(`{"type":"text","text":"hola"},`, 9_999) + `{"type":"text","text":"fin"}]}`,
		"structured": `{"structuredContent":{"all":` + string(text) + `}}`,
		"a resource": `{"content":[{"type":"resource","resource":{"uri":` + string(text) + `,"text":` + string(text) + `}}]}`,
		"no result":  string(text),
	} {
		a := toolAnswer(plan.Result{Body: json.RawMessage(body)}, plan.StepDone, resultShown, func(raw json.RawMessage) *legible {
			return words{tag: locale.Spanish}.read(raw, nil, 0, resultShown, noon)
		})
		size := 0
		if a.Body != nil {
			size = len(a.Body.Body)
		}
		for _, b := range a.Blocks {
			if size += len(b.Name); b.Body != nil {
				size += len(b.Body.Body)
			}
		}
		if !a.Truncated || size == 0 || size > 8*resultShown {
			t.Errorf("%s: %d bytes are shown, truncated %v", name, size, a.Truncated)
		}
	}
}

func TestAnswersOfAgentsNameTheAgent(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.chats["c1"] = conversation.Chat{ID: "c1", SessionID: "+51 999 <b>", Company: 12, UpdatedAt: noon}
	w.messages["c1"] = []conversation.Message{
		{ID: "m1", Role: conversation.RoleUser, Kind: conversation.KindText, Content: "un masaje mañana", At: noon},
		{ID: "m2", Role: conversation.RoleAssistant, Kind: conversation.KindText, Content: "Tengo a las 10", At: noon, By: &conversation.By{Agent: "reserva", Provider: "openai", Model: "gpt-4o-mini"}},
	}
	golden(t, "chat_routed.html", dense(get(t, w.page, "/ui/chats/c1", ana).Body.String()))
	if body := get(t, w.page, "/ui/chats", ana).Body.String(); !strings.Contains(body, "&#43;51 999 &lt;b&gt;") {
		t.Error(body)
	}
}

func TestAProjectsChoicesHaveNoAgents(t *testing.T) {
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.equip()
	w.projects["p1"] = conversation.Project{ID: "p1", Name: "Lima"}
	body := get(t, w.page, "/ui/projects/p1", ana).Body.String()
	if !strings.Contains(body, `value="tools"`) || strings.Contains(body, `value="agent-r"`) {
		t.Error(body)
	}
}

func TestAnAgentIsRegisteredAndApprovedFromThePage(t *testing.T) {
	b := open(t, 1280, 1300)
	b.equip()
	b.visit("/?view=servers")
	b.see(`[data-submit="add-server"]`)
	b.picture("servers-mcp")
	hidden := func(name string, want bool) {
		t.Helper()
		css := `[data-submit="add-server"] [name=` + name + `]`
		if got := eval[bool](b, `!document.querySelector('`+css+`').checkVisibility() && document.querySelector('`+css+`').matches(":disabled")`); got != want {
			t.Errorf("%s is hidden: %v", name, got)
		}
	}
	choose := func(name, value string) {
		t.Helper()
		b.do(chromedp.SetValue(chromedp.CSS(`[data-submit] [name=`+name+`]`), value))
		eval[bool](b, `document.querySelector("[data-submit] [name=`+name+`]").dispatchEvent(new Event("change",{bubbles:true}))`)
	}
	hidden("role", true)
	hidden("keywords", true)
	hidden("key_value", true)
	choose("kind", "mcp")
	hidden("role", false)
	hidden("keywords", true)
	choose("role", "agent")
	hidden("keywords", false)
	hint := `!document.querySelector("[data-submit] small[data-shown]").hidden && document.querySelector("[data-submit] [name=name]").required`
	choose("kind", "openapi") // removes the agent's fields
	hidden("keywords", true)
	if eval[bool](b, hint) {
		t.Error("a service needs an agent's name")
	}
	choose("kind", "mcp")
	hidden("keywords", false)
	if !eval[bool](b, hint) {
		t.Error("an agent needs no name")
	}
	choose("key_in", "oauth")
	for _, name := range []string{"key_token_url", "key_name", "key_value"} {
		hidden(name, false)
	}
	b.write("[name=url]", "https://agent.example/mcp")
	b.write(`[name=name]`, "reserva")
	b.write("[name=description]", "Reservas de salas")
	b.write("[name=keywords]", "mesa, sala ,, hora")
	b.write("[name=key_name]", "cliente")
	b.write("[name=key_token_url]", "https://auth.example/token")
	b.picture("add-agent")
	b.write("[name=key_value]", "s3cret-canary\r")
	b.see("#operations.tools")
	b.world.mu.Lock()
	var sent map[string]any
	_ = json.Unmarshal([]byte(b.asked[0]), &sent)
	b.world.mu.Unlock()
	got, _ := json.Marshal(sent)
	if want := `{"allow_offline":false,"description":"Reservas de salas","force":false,"key":{"in":"oauth","name":"cliente","token_url":"https://auth.example/token","value":"s3cret-canary"},"keywords":["mesa","sala","hora"],"kind":"mcp","name":"reserva","role":"agent","url":"https://agent.example/mcp"}`; string(got) != want {
		t.Errorf("registered\n%s\ninstead of\n%s", got, want)
	}
	b.visit("/?view=servers&id=agent-r")
	b.see(`[data-approve]`)
	b.picture("agent-frozen")
	b.click(`[data-approve]`)
	b.see("#ask-yes")
	b.picture("approve")
	b.click("#ask-yes")
	b.until(`document.querySelector("#changes li")?.innerText === "± chat" && !document.querySelector("[data-approve]")`)
	b.visit("/?view=servers&id=tools")
	b.see(`[data-submit="set-key"]`)
	choose("in", "query")
	b.write(`[data-submit="set-key"] [name=name]`, "k")
	b.write(`[data-submit="set-key"] [name=value]`, "other-canary\r")
	b.until(`document.querySelector("[data-action=remove-key]") && [...document.querySelectorAll(".toast")].some(t => t.innerText === "Guardado")`)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	if b.asked[1] != `{"in":"query","name":"k","value":"other-canary"}` {
		t.Error(b.asked[1])
	}
}

func TestToolsFitANarrowScreen(t *testing.T) {
	b := open(t, 390, 844)
	b.equip()
	b.world.mu.Lock()
	b.chats["c1"] = conversation.Chat{ID: "c1", Title: "Cajas", SessionID: "5199", Company: 12}
	run := toolRun()
	run.ChatID = "c1"
	b.runs[run.ID] = run
	b.world.say("c1", conversation.RoleUser, conversation.KindText, "", "mueve 3 cajas")
	b.world.say("c1", conversation.RoleAssistant, conversation.KindPlan, run.ID, "Plan propuesto")
	b.world.say("c1", conversation.RoleAssistant, conversation.KindText, "", "Tengo a las 10")
	b.signed("c1", &conversation.By{Agent: "reserva", Provider: "demo", Model: "demo"})
	b.world.mu.Unlock()
	for _, address := range []string{"/?view=servers", "/?view=servers&id=tools", "/?view=servers&id=agent-r", "/?chat=c1"} {
		b.visit(address)
		b.see("#view")
		eval[bool](b, `(document.querySelectorAll("details").forEach(d => d.open = true), document.querySelectorAll("[data-submit] [hidden]").forEach(e => { e.hidden = false; e.disabled = false }), true)`)
		if wide := eval[int](b, `Math.max(document.documentElement.scrollWidth, document.getElementById("scroller").scrollWidth)`); wide > 390 {
			t.Errorf("%s is %d px wide: %s", address, wide, eval[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391).map(e => e.tagName + "." + e.className).join(" ")`))
		}
	}
	if *shots == "" {
		return
	}
	b.do(chromedp.EmulateViewport(390, 2200))
	for name, address := range map[string]string{"tools-narrow": "/?view=servers&id=tools", "agent-narrow": "/?view=servers&id=agent-r", "servers-narrow": "/?view=servers", "card-tools-narrow": "/?chat=c1"} {
		b.visit(address)
		b.see("#view")
		eval[bool](b, `(document.querySelectorAll(".card details").forEach(d => d.open = true), true)`)
		b.picture(name)
	}
	b.do(chromedp.EmulateViewport(1280, 1900))
	b.visit("/?chat=c1")
	b.see(".card")
	eval[bool](b, `(document.querySelectorAll(".card details").forEach(d => d.open = true), true)`)
	b.picture("card-tools")
	b.dim()
	b.picture("card-tools-dark")
	b.visit("/?view=servers&id=agent-r")
	b.see(".pairs")
	b.dim()
	b.picture("agent-dark")
}
