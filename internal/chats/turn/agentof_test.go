package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolset"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
)

// choose has the chat choose an agent, whose change is patch; "" for one as it is shipped.
func (w *world) choose(t testing.TB, name, patch string) {
	t.Helper()
	ctx := context.Background()
	if patch != "" {
		agents := agent.Registry{Store: w.Store.Registry, Providers: namedProviders{"openai", "nadie"}, Now: w.Clock} // nadie is gone later
		if _, err := agents.Put(ctx, fixture.Account, "ana", name, 0, json.RawMessage(patch)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Store.Chats.UpdateChat(ctx, w.ChatKey(), conversation.ChatChange{Agent: &name}, w.Clock()); err != nil {
		t.Fatal(err)
	}
}

// asked returns the last request of a model.
func (w *world) asked() llm.Request { return w.model.asked[len(w.model.asked)-1] }

func toolsOf(r llm.Request) string {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

// TestToolsOfATurnHaveAClass: what an agent's globs match is what a turn has.
func TestToolsOfATurnHaveAClass(t *testing.T) {
	w, _ := newFileWorld(t)
	withFiles(t, w)
	draft := w.world
	draft.choose(t, "build", "")
	draft.model.answers = []any{calls("mcp_request", draft.request("DELETE", "/bookings/9", "")), text("Vale.")}
	draft.send(t, "borra la 9")
	draft.send(t, "¿y cuál es?")
	all := strings.Fields(toolsOf(draft.asked()))
	for _, name := range all {
		if toolset.ClassOf(name) == "" {
			t.Errorf("%s has no class", name)
		}
	}
	if len(all) != len(toolset.Names()) {
		t.Errorf("a turn has %v, and the classes are %v", all, toolset.Names())
	}
}

func TestAnAgentWorksUnderItsPromptWithItsTools(t *testing.T) {
	w := newLookWorld(t, text("Lo he mirado."))
	w.choose(t, "plan", "")
	reply := w.send(t, "¿Qué haría falta?")
	r := w.asked()
	prompt := r.Messages[0].Content
	if !strings.Contains(prompt, "agent “plan”. Your only tools are: search_tools, look, read_result, ask_person.\nYou prepare; you do not act.") ||
		strings.Index(prompt, "agent “plan”") > strings.Index(prompt, "</instructions>") || strings.Index(prompt, "</instructions>") > strings.Index(prompt, "\n<catalogue>\n") {
		t.Error(prompt)
	}
	if got := toolsOf(r); got != "search_tools look read_result ask_person" {
		t.Errorf("its tools are %s", got)
	}
	if reply.Message.By == nil || reply.Message.By.Agent != "plan" {
		t.Errorf("%+v", reply.Message.By)
	}
	none := newLookWorld(t, text("Hola."))
	none.choose(t, "mudo", `{"prompt":"Calla.","tools":[]}`)
	none.send(t, "hola")
	if r := none.asked(); toolsOf(r) != "ask_person" || !strings.Contains(r.Messages[0].Content, "Your only tools are: ask_person.") {
		t.Errorf("%v", r.Tools)
	}
}

// TestAnAgentWithoutToolsThatProposeProposesNothing: neither by a tool that it does not have, nor by a look that has
// to be confirmed, nor when it is asked again because its text claims a plan.
func TestAnAgentWithoutToolsThatProposeProposesNothing(t *testing.T) {
	w := newLookWorld(t)
	w.reads(t, w.Server.ID, tool.ReadsOff, "")
	w.reads(t, w.register(t).ID, tool.ReadsOn, "")
	w.choose(t, "review", "")
	w.model.answers = []any{
		calls("propose_plan", `{"goal":"Borrar","steps":[`+w.request("DELETE", "/bookings/9", `,"id":"s1","title":"x"`)+`]}`),
		calls("mcp_request", w.request("DELETE", "/bookings/9", "")),
		text("¿Confirmas el plan?"),
	}
	if reply := w.send(t, "borra la 9"); reply.Run != nil || reply.Kind != turn.KindMessage || len(w.Requests()) != 0 {
		t.Errorf("%+v after %v", reply, w.Requests())
	}
	if got := w.model.lastTool(); !strings.Contains(got, `there is no tool`) {
		t.Errorf("the model was told %s", got)
	}
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("No puedo leerlo.")}
	if reply := w.send(t, "¿qué salas hay?"); reply.Run != nil || len(w.Requests()) != 0 {
		t.Errorf("%+v after %v", reply, w.Requests())
	}
	if got := w.lastResults(); len(got) != 1 || !strings.Contains(got[0], "proposes nothing") {
		t.Errorf("%v", got)
	}
}

func TestConfirmAllProposesLooks(t *testing.T) {
	for mode, looks := range map[agent.Mode]int{agent.ConfirmAll: 0, agent.ConfirmSensitive: 1, agent.Yolo: 1} {
		w := newLookWorld(t)
		w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms")), text("Hay una.")}
		w.choose(t, "build", `{"mode":"`+string(mode)+`"}`)
		if reply := w.send(t, "¿qué salas hay?"); len(w.Requests()) != looks || (reply.Run != nil) != (looks == 0) {
			t.Errorf("%s: %+v after %v", mode, reply, w.Requests())
		}
	}
	w := newLookWorld(t)
	w.model.answers = []any{calls("mcp_request", w.request("DELETE", "/bookings/9", ""))}
	w.choose(t, "build", `{"mode":"yolo"}`)
	if reply := w.send(t, "borra la 9"); reply.Kind != turn.KindPlan || len(w.Requests()) != 0 {
		t.Errorf("yolo covers a service: %+v after %v", reply, w.Requests())
	}
}

func TestAnAgentSeesItsServersOnly(t *testing.T) {
	w := newLookWorld(t)
	shop := w.register(t)
	w.reads(t, shop.ID, tool.ReadsOn, "")
	w.choose(t, "tendero", `{"prompt":"Vende.","servers":["`+shop.ID+`"]}`)
	w.model.answers = []any{calls("look", lookAt(w.Server.ID, "/rooms"), "mcp_request", w.request("DELETE", "/bookings/9", "")), text("No veo ese servicio.")}
	if reply := w.send(t, "¿qué salas hay?"); reply.Run != nil || len(w.Requests()) != 0 {
		t.Errorf("%+v after %v", reply, w.Requests())
	}
	if prompt := w.asked().Messages[0].Content; strings.Contains(prompt, w.Server.ID) || !strings.Contains(prompt, shop.ID) {
		t.Error(prompt)
	}
}

func TestAnAgentIsBounded(t *testing.T) {
	w := newLookWorld(t)
	look := calls("look", lookAt(w.Server.ID, "/rooms"))
	w.model.answers = []any{look, look, text("Hasta aquí."), text("Tarde.")}
	w.choose(t, "build", `{"max_steps":2,"max_tokens":77}`)
	if reply := w.send(t, "mira"); reply.Message.Content != "Hasta aquí." || reply.Message.StopReason != conversation.StopSteps || len(w.model.asked) != 3 || !w.asked().NoCalls || w.asked().MaxTokens != 77 {
		t.Errorf("%d calls of %d tokens: %+v", len(w.model.asked), w.asked().MaxTokens, reply)
	}
}

// TestAnAgentHasItsModelAndItsBudget: the model is the agent's, and a call that could cost more than the budget is not
// made, whatever the account's own limits are.
func TestAnAgentHasItsModelAndItsBudget(t *testing.T) {
	w := newWorldWith(t, eligibility.Deployment{
		Providers: []eligibility.Platform{{Name: "test", BaseURL: "https://test.example/v1"}, {Name: "openai", BaseURL: "https://other.example/v1"}},
		Assistant: fixture.Assistant("test", "m"),
	}, text("Una."), text("Dos."))
	w.choose(t, "build", `{"assistant":{"provider":"openai","model":"gpt-4o-mini"},"max_tokens":100}`)
	reply := w.send(t, "hola")
	if by := reply.Message.By; by == nil || by.Provider != "openai" || w.asked().Model != "gpt-4o-mini" {
		t.Errorf("%+v", by)
	}
	w.choose(t, "resume", `{"assistant":{"provider":"openai","model":"gpt-4o-mini"},"budget_micros":1}`)
	asked := len(w.model.asked)
	if reply := w.send(t, "hola"); reply.Block == nil || reply.Block.Reason != eligibility.AgentBudget || len(w.model.asked) != asked || !strings.Contains(reply.Message.Content, "presupuesto del agente no alcanza para responder. El presupuesto es de 0,000001 USD: van 0,00 USD gastados, y esta llamada puede costar hasta 0,") {
		t.Errorf("%+v", reply)
	}
	w.choose(t, "plan", `{"assistant":{"provider":"nadie","model":"x"}}`)
	if reply := w.send(t, "hola"); reply.Block == nil || reply.Block.Reason != eligibility.NoAPIKey {
		t.Errorf("%+v", reply.Block)
	}
}

// TestADeletedAgentIsToldOnce: the chat goes on without it.
func TestADeletedAgentIsToldOnce(t *testing.T) {
	w := newLookWorld(t, text("Una."), text("Dos."))
	w.choose(t, "mio", `{"prompt":"Mira."}`)
	if err := (agent.Registry{Store: w.Store.Registry, Now: w.Clock}).Delete(context.Background(), fixture.Account, "mio", 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Una.", "Dos."} {
		reply := w.send(t, "hola")
		if reply.Message.Content != want || reply.Message.By.Agent != "" || !strings.Contains(toolsOf(w.asked()), "propose_plan") {
			t.Errorf("%+v", reply)
		}
	}
	told := 0
	for _, m := range w.Messages() {
		if m.Role == conversation.RoleSystem && strings.Contains(m.Content, "«mio»") {
			told++
		}
	}
	chat, err := w.Store.Chats.Chat(context.Background(), fixture.Account, w.Chat.ID)
	if told != 1 || err != nil || chat.Agent != "" {
		t.Errorf("it is told %d times, and the chat has %q, %v", told, chat.Agent, err)
	}
}

func TestAnAgentWarnsOfItsCost(t *testing.T) {
	for warn, notes := range map[string]int{`{"warn_micros":1}`: 1, `{"warn_micros":1000000}`: 0, `{}`: 0} {
		w := newWorldWith(t, eligibility.Deployment{
			Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://test.example/v1"}}, Assistant: fixture.Assistant("openai", "gpt-4o-mini"),
		}, llm.Reply{Text: "Hecho el resumen.", Usage: llm.Usage{Input: 1000, Output: 1000}})
		w.choose(t, "resume", warn)
		reply := w.send(t, "resume")
		cost := slices.DeleteFunc(reply.Message.Notes, func(n conversation.Note) bool { return n.Code != conversation.NoteCost })
		if len(cost) != notes {
			t.Errorf("%s: %+v", warn, reply.Message.Notes)
		}
	}
}

// TestAnAgentWarnsOfTheCostOfAJob: what all its calls cost.
func TestAnAgentWarnsOfTheCostOfAJob(t *testing.T) {
	for warn, notes := range map[int64]int{1200: 1, 1000000: 0, 0: 0} { // one call costs 750
		w := newJobWorld(t)
		w.service.Paid.Eligibility = w.Eligibility(eligibility.Deployment{
			Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://test.example/v1"}}, Assistant: fixture.Assistant("openai", "gpt-4o-mini"),
		}, "openai")
		dear := func(r llm.Reply) llm.Reply { r.Usage = llm.Usage{Input: 1000, Output: 1000}; return r }
		w.model.answers = []any{dear(w.looksAt(0)), dear(text("Hecho."))}
		id := w.start(t, "build", job.Order{}).ID
		j := w.job(t, id)
		j.Loop.WarnMicros = warn
		if _, err := w.Store.Jobs.SaveJob(t.Context(), j, nil); err != nil {
			t.Fatal(err)
		}
		j = w.drive(t, id)
		cost := slices.DeleteFunc(w.last(t).Notes, func(n conversation.Note) bool { return n.Code != conversation.NoteCost })
		if len(cost) != notes || j.Micros != 1500 {
			t.Errorf("a warning at %d of %d: %+v", warn, j.Micros, w.last(t).Notes)
		}
	}
}

// TestAVerdictHasRoom: an agent with short answers is judged, too.
func TestAVerdictHasRoom(t *testing.T) {
	w := newJobWorld(t, text("Una."), verdictOf(true, 1, ""), text("Dos."), verdictOf(true, 1, ""))
	w.choose(t, "resume", `{"eval":"basic","max_tokens":16}`)
	w.send(t, "resume las salas")
	id := w.start(t, "build", job.Order{Eval: agent.EvalBasic}).ID
	j := w.job(t, id)
	j.Loop.MaxTokens = 16
	if _, err := w.Store.Jobs.SaveJob(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	w.drive(t, id)
	for i, r := range w.model.asked {
		if judges := r.Format != nil; judges != (i%2 == 1) || judges != (r.MaxTokens == 600) || !judges && r.MaxTokens != 16 {
			t.Errorf("call %d has %d tokens", i, r.MaxTokens)
		}
	}
	if len(w.model.asked) != 4 {
		t.Errorf("%d calls", len(w.model.asked))
	}
}

func verdictOf(completed bool, confidence float64, issues string) llm.Reply {
	return text(fmt.Sprintf(`{"completed":%v,"confidence":%v,"issues":[%s],"suggestion":"mira la Este"}`, completed, confidence, issues))
}

// TestAnAnswerIsEvaluated: basic judges once and says what may be missing; full writes the answer anew, twice at most.
func TestAnAnswerIsEvaluated(t *testing.T) {
	for name, c := range map[string]struct {
		eval    string
		answers []any
		content string
		note    string // "" for none
		asked   int
	}{
		"off":                  {"off", []any{text("Una.")}, "Una.", "", 1},
		"basic, complete":      {"basic", []any{text("Una."), verdictOf(true, 0.8, "")}, "Una.", "", 2},
		"basic, unsure":        {"basic", []any{text("Una."), verdictOf(true, 0.79, "")}, "Una.", "no cumpla todo lo que pediste", 2},
		"basic, incomplete":    {"basic", []any{text("Una."), verdictOf(false, 1, `"falta la <b>Este"`)}, "Una.", "falta la bEste", 2},
		"basic, unreadable":    {"basic", []any{text("Una."), text("Está bien.")}, "Una.", "", 2},
		"basic, half":          {"basic", []any{text("Una."), text(`{"completed":false}`)}, "Una.", "", 2},
		"basic, in percent":    {"basic", []any{text("Una."), verdictOf(false, 95, `"falta"`)}, "Una.", "", 2},
		"basic, under nothing": {"basic", []any{text("Una."), verdictOf(false, -1, `"falta"`)}, "Una.", "", 2},
		"basic, failed":        {"basic", []any{text("Una."), errors.New("no network")}, "Una.", "", 2},
		"full, corrected":      {"full", []any{text("Una."), verdictOf(false, 1, `"falta"`), text("Dos."), verdictOf(true, 1, "")}, "Dos.", "", 4},
		"full, twice at most":  {"full", []any{text("Una."), verdictOf(false, 1, ""), text("Dos."), verdictOf(false, 1, ""), text("Tres."), verdictOf(false, 1, `"falta"`)}, "Tres.", "falta", 6},
		"full, then it failed": {"full", []any{text("Una."), verdictOf(false, 1, ""), text("Dos."), errors.New("no network")}, "Dos.", "", 4},
	} {
		w := newLookWorld(t, c.answers...)
		w.service.Log = slog.New(slog.DiscardHandler)
		w.choose(t, "resume", `{"eval":"`+c.eval+`"}`)
		reply := w.send(t, "resume las salas")
		note := ""
		for _, n := range reply.Message.Notes {
			note += n.Code + " " + n.Text
		}
		if reply.Message.Content != c.content || len(w.model.asked) != c.asked || (note != "") != (c.note != "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: %q with %q after %d calls", name, reply.Message.Content, note, len(w.model.asked))
		}
		if c.asked > 1 && (w.model.asked[1].Format == nil || len(w.model.asked[1].Tools) != 0) {
			t.Errorf("%s: the evaluation has tools or no format", name)
		}
	}
}

// TestAnEvaluationHasARecordOfItsOwn: its cost is told from that of the answer, and both are in the agent's budget.
func TestAnEvaluationHasARecordOfItsOwn(t *testing.T) {
	judged := 0
	for budget := int64(300); budget < 30_000; budget += budget / 2 {
		w := newWorldWith(t, eligibility.Deployment{
			Providers: []eligibility.Platform{{Name: "openai", BaseURL: "https://test.example/v1"}}, Assistant: fixture.Assistant("openai", "gpt-4o-mini"),
		})
		w.service.Log = slog.New(slog.DiscardHandler)
		w.service.Paid.Models = providers{models(func(_ context.Context, r llm.Request) (llm.Reply, error) {
			reply := text("Una.")
			if r.Format != nil {
				reply = verdictOf(false, 1, `"falta"`)
			}
			reply.Usage = llm.Usage{Input: r.Estimate(), Output: r.MaxTokens} // the most that was held
			return reply, nil
		})}
		w.choose(t, "resume", fmt.Sprintf(`{"eval":"full","budget_micros":%d}`, budget))
		w.send(t, "resume las salas")
		total, sources := int64(0), map[string]int{}
		for _, one := range w.turns(t) {
			total += one.Micros
			sources[one.Source]++
		}
		if total > budget {
			t.Errorf("a budget of %d, and %d were used: %v", budget, total, sources)
		}
		if sources[""] != 1 {
			t.Errorf("a budget of %d: the answers are %d records: %v", budget, sources[""], sources)
		}
		judged = max(judged, sources[credit.SourceEval])
	}
	if judged != 1+2 {
		t.Errorf("%d evaluations have a record", judged)
	}
}
