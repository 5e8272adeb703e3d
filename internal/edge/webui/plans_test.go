package webui

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"piloto/internal/chats/consent"
	"piloto/internal/chats/intent"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

func hashOf(secret string) string { return ids.Hash(secret) }

// noon is the time of the golden files.
var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

const roomsURL = "http://127.0.0.1:9100"

// roomPlan reads, writes with a result of the first step, and reads again.
func roomPlan(now time.Time) plan.Plan {
	p := plan.Plan{
		ID: "01JPLAN0000000000000000000", Revision: 1, Goal: "Reservar una sala para 6 mañana a las 10", ExpiresAt: now.Add(24 * time.Hour).Truncate(time.Second),
		Steps: []plan.Step{
			{ID: plan.EffectOf("s1"), Title: "Buscar salas libres", MCPID: "rooms", Method: "GET", Path: "/rooms", Query: json.RawMessage(`{"capacity":6,"free_on":"2026-03-06"}`), Needs: []string{}, Risk: plan.Read},
			{ID: plan.EffectOf("s2"), Title: "Reservar la primera", MCPID: "rooms", Method: "POST", Path: "/reservations", Body: json.RawMessage(`{"room_id":"${s1.body.items[0].id}","date":"2026-03-06","start":"10:00","people":6,"ticket":9007199254740993}`), Needs: []string{"s1"}, Risk: plan.Write},
			{ID: plan.EffectOf("s3"), Title: "Comprobar la reserva", MCPID: "rooms", Method: "GET", Path: "/reservations/${s2.body.id}", Needs: []string{"s2"}, Risk: plan.Read},
		},
	}
	for _, s := range p.Steps {
		p.Bindings = append(p.Bindings, plan.Binding{StepID: s.ID, MCPID: "rooms", ServerName: "Salas de demostración", BaseURL: roomsURL, Template: templateOf(s.Path), Fingerprint: "f"})
	}
	p.Bindings[0].Query = "capacity=6&free_on=2026-03-06"
	return p
}

var parameter = regexp.MustCompile(`\$\{[^}]*\}|/\d+`)

// templateOf returns the template of a path: a reference or a number is a parameter.
func templateOf(path string) string {
	return parameter.ReplaceAllStringFunc(path, func(value string) string {
		if value[0] == '/' {
			return "/{id}"
		}
		return "{id}"
	})
}

// draft returns a waiting run of a plan.
func draft(p plan.Plan) plan.Run {
	digest, err := p.Digest()
	if err != nil {
		panic(err)
	}
	r := plan.Run{ID: "01JRUN00000000000000000000", Account: "acc", ChatID: "01JCHAT0000000000000000000", Plan: p, Digest: digest, Status: plan.Draft, EventSeq: 1}
	for _, s := range p.Steps {
		r.Steps = append(r.Steps, plan.StepState{StepID: s.ID, Status: plan.StepPending})
	}
	return r
}

// oneStep returns a plan of a single step.
func oneStep(s plan.Step, base string) plan.Plan {
	s.ID, s.MCPID, s.Needs = plan.EffectOf("s1"), "srv", []string{}
	if s.Method == "" {
		s.Method = "POST"
	}
	return plan.Plan{
		ID: "01JPLAN0000000000000000000", Revision: 1, Goal: "Pagar", Steps: []plan.Step{s}, ExpiresAt: noon.Add(23 * time.Hour),
		Bindings: []plan.Binding{{StepID: plan.EffectOf("s1"), MCPID: "srv", ServerName: "Banco", BaseURL: base, Template: s.Path, Fingerprint: "f"}},
	}
}

// finishedRun returns roomPlan after every possible result of a step.
func finishedRun() (plan.Run, []plan.Event) {
	r := draft(roomPlan(noon))
	r.Status = plan.InDoubt
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	r.Steps[0] = plan.StepState{
		StepID: plan.EffectOf("s1"), Status: plan.StepDone, Attempts: 2, Last: plan.Attempt{URL: roomsURL + "/rooms?capacity=6"},
		Result: &plan.Result{Status: 200, Bytes: 70000, Truncated: true, Body: json.RawMessage(`"<script>alert(1)</script>\nsegunda línea"`)},
	}
	r.Steps[1] = plan.StepState{
		StepID: plan.EffectOf("s2"), Status: plan.StepInDoubt, Attempts: 1, Last: plan.Attempt{URL: roomsURL + "/reservations", Body: json.RawMessage(`{"room_id":"a1"}`)},
		Error: &plan.Failure{Code: "step.in_doubt", Message: "La petición se envió y no llegó respuesta."},
	}
	r.Steps[2] = plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepCancelled, Error: &plan.Failure{Code: "step.cancelled", Message: "No se ejecutó."}}
	events := []plan.Event{
		{Seq: 1, At: at(0), Type: plan.EventProposed},
		{Seq: 2, At: at(1000), Type: plan.EventConfirmed},
		{Seq: 3, At: at(1100), Type: plan.EventStarted},
		{Seq: 4, At: at(1200), Type: plan.EventStepStart, StepID: plan.EffectOf("s1")},
		{Seq: 5, At: at(1900), Type: plan.EventStepRetry, StepID: plan.EffectOf("s1"), Data: json.RawMessage(`{"reason":"El servicio pide esperar (429)."}`)},
		{Seq: 6, At: at(2400), Type: plan.EventStepDone, StepID: plan.EffectOf("s1")},
		{Seq: 7, At: at(2500), Type: plan.EventStepStart, StepID: plan.EffectOf("s2")},
		{Seq: 8, At: at(32500), Type: plan.EventStepDoubt, StepID: plan.EffectOf("s2")},
		{Seq: 9, At: at(32600), Type: plan.EventFinished},
	}
	r.EventSeq = len(events)
	return r, events
}

// furnish gives an account a server with its operations, and a project.
func (w *world) furnish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers["rooms"] = tool.Server{
		ID: "rooms", Name: "Salas de demostración", Kind: tool.KindOpenAPI, BaseURL: roomsURL, Active: true, Status: tool.Online,
		Operations: 4, Warnings: []string{"GET /slow: el esquema se ha simplificado"}, RefreshedAt: w.now().Add(-5 * time.Minute),
	}
	w.entries["rooms"] = []tool.Entry{
		{Method: "GET", Path: "/rooms", OperationID: "listRooms", Summary: "Salas y sus huecos libres"},
		{Method: "POST", Path: "/reservations", OperationID: "reserve", Summary: "Reserva una sala"},
		{Method: "GET", Path: "/reservations/{id}", OperationID: "readReservation", Summary: "Una reserva"},
		{Method: "DELETE", Path: "/reservations/{id}", OperationID: "cancel", Summary: "Anula una reserva"},
	}
	w.servers["bank"] = tool.Server{
		ID: "bank", Name: "Banco", Kind: tool.KindOpenAPI, BaseURL: "https://xn--bnco-7q5a.example", Status: tool.Offline, LastError: "mcp.unreachable",
		Keys: []tool.KeyPlace{{In: "header", Name: "X-Api-Key"}},
	}
}

// utterances returns messages, whether each is about a plan in every context, and whether each may be a yes.
func utterances(t *testing.T) (texts []string, decides, agrees []bool) {
	texts = []string{
		"confirmo", "Confirmo.", "¡CONFIRMO!", "sí", "si", "Sí, por favor", "ok 👍", "👍", "ok 👎", "dale 🙄", "no", "No, gracias", "cancela 🛑",
		"confirmo?", "¿confirmo?", "confirmo ¿no", "“confirmo”", "'confirmo'", "/confirmo", "`ok`", "ok\\", "c̶o̶n̶f̶i̶r̶m̶o̶", "conf\u200birmo", "\u202eomrifnoc",
		"ｃｏｎｆｉｒｍｏ", "confirmo si hay sitio", "no confirmo", "adelante", "ADELANTE…", "go ahead", "Don't", "don’t do it", "para", "para mañana", "", " ", "\n",
		"sí\nsí", "ok\ufffc", "sí 👨\u200d👩\u200d👧", "okay!!!", "stop ✋", "s\u0456", "⓪k", "ﬁn", "K\u0307", "İ", "ẞ", "Ⅸ", "confirmo\u037e", "ok 𖡄", "yes ☑️", "ok ☝🏽",
		"Yes, please proceed with the cancellation.", "sí, cancélalo, gracias", "Great, yes please", "Yes, go ahead 🤔", "Yes, do you?", "let's proceed with the exchange", "¡Perfecto! Adelante con el cambio", "yes " + strings.Repeat("and ", 40),
	}
	for kind := intent.Assent; kind <= intent.Stop; kind++ {
		words := intent.Words(kind)
		texts = append(texts, words[:min(len(words), 100)]...)
	}
	for _, text := range texts {
		decides = append(decides, intent.Classify(text).Named())
		agrees = append(agrees, consent.MayAgree(text))
	}
	return texts, decides, agrees
}
