package webui

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

type lockedRoute = func(pattern string, h func(http.ResponseWriter, *http.Request, map[string]any))

// aiRoutes adds the routes below /ai, over the real decisions.
func (w *world) aiRoutes(mux *http.ServeMux, locked lockedRoute) {
	mux.HandleFunc("GET /ai/eligibility", w.eligible)
	mux.HandleFunc("GET /ai/status", func(rw http.ResponseWriter, _ *http.Request) {
		tell(rw, 200, map[string]any{
			"entitled": true, "enabled": true, "configured": true, "connected": false, "provider": "openai", "model": "gpt-4o-mini", "checked_at": w.now(),
			"attempts": []any{map[string]any{"at": w.now(), "provider": "<b>x</b>", "model": "m", "outcome": "<i>odd</i>", "latency_ms": 1200, "input_tokens": 1, "output_tokens": 2}},
		})
	})
	mux.HandleFunc("GET /ai/providers", func(rw http.ResponseWriter, r *http.Request) {
		list, _ := w.ai.Providers(r.Context(), w.account)
		out := []map[string]any{}
		for _, p := range list {
			out = append(out, map[string]any{"provider": p.Name, "has_key": p.HasKey})
		}
		tell(rw, 200, map[string]any{"providers": out})
	})
	mux.HandleFunc("PUT /ai/assistant", func(rw http.ResponseWriter, r *http.Request) { w.putAssistant(rw, r, "") })
	mux.HandleFunc("PUT /api/projects/{id}/assistant", func(rw http.ResponseWriter, r *http.Request) { w.putAssistant(rw, r, r.PathValue("id")) })
	mux.HandleFunc("DELETE /ai/assistant", func(rw http.ResponseWriter, r *http.Request) {
		w.done(rw, w.ai.DeleteAssistant(r.Context(), w.account, ""))
	})
	mux.HandleFunc("PUT /ai/entitlement", func(rw http.ResponseWriter, r *http.Request) {
		var e eligibility.Entitlement
		_ = json.NewDecoder(r.Body).Decode(&e)
		_, err := w.ai.PutEntitlement(r.Context(), w.account, e)
		w.done(rw, err)
	})
	mux.HandleFunc("PUT /ai/terms", func(rw http.ResponseWriter, r *http.Request) {
		terms, _ := w.ai.Terms(r.Context(), w.account)
		_ = json.NewDecoder(r.Body).Decode(&terms)
		_, err := w.ai.PutTerms(r.Context(), w.account, terms)
		w.done(rw, err)
	})
	mux.HandleFunc("PUT /ai/providers/{name}", func(rw http.ResponseWriter, r *http.Request) {
		c := eligibility.Config{}
		_ = json.NewDecoder(r.Body).Decode(&c)
		c.Name = r.PathValue("name")
		before, _ := w.ai.View(r.Context(), w.account, c.Name)
		_, err := w.ai.PutProvider(r.Context(), w.account, before.Own, c)
		w.done(rw, err)
	})
	mux.HandleFunc("POST /ai/providers/{name}/check", func(rw http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		v, _ := w.ai.View(r.Context(), w.account, r.PathValue("name"))
		w.mu.Lock()
		w.checked = append(w.checked, v.Name+" "+body.Model)
		w.mu.Unlock()
		w.done(rw, w.PutCheck(r.Context(), w.account, nil, eligibility.Check{
			Provider: v.Name, BaseURL: v.BaseURL, Status: eligibility.CheckRunning, At: w.now(), Until: w.now().Add(time.Hour), Model: body.Model,
		}))
	})
	mux.HandleFunc("GET /ai/providers/{name}", func(rw http.ResponseWriter, r *http.Request) { // the check ends when it is asked for
		v, _ := w.ai.View(r.Context(), w.account, r.PathValue("name"))
		c := *v.Check
		c.Status, c.Findings = eligibility.CheckDone, []eligibility.Finding{{Code: "tools"}}
		_ = w.PutCheck(r.Context(), w.account, v.Check, c)
		tell(rw, 200, map[string]any{"provider": v.Name, "check": map[string]any{"status": c.Status}})
	})
	mux.HandleFunc("PUT /ai/providers/{name}/key", func(rw http.ResponseWriter, r *http.Request) {
		var body struct{ Key string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, err := w.ai.SetKey(r.Context(), w.account, r.PathValue("name"), eligibility.Key(body.Key))
		w.done(rw, err)
	})
	mux.HandleFunc("DELETE /ai/providers/{name}", func(rw http.ResponseWriter, r *http.Request) {
		w.done(rw, w.ai.DeleteProvider(r.Context(), w.account, r.PathValue("name")))
	})
	mux.HandleFunc("POST /api/chats/{id}/stop", func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if stop, ok := w.stops[r.PathValue("id")]; ok {
			close(stop)
			delete(w.stops, r.PathValue("id"))
		}
		tell(rw, 202, map[string]any{"stopping": true})
	})
	mux.HandleFunc("POST /api/realtime", func(rw http.ResponseWriter, r *http.Request) { w.hub.admit(rw, r) })
	locked("POST /ai/ledger", w.move)
}

// done writes the result of a change, with the refused fields.
func (w *world) done(rw http.ResponseWriter, err error) {
	var f *fault.Error
	switch {
	case err == nil:
		tell(rw, 200, map[string]any{})
	case errors.As(err, &f):
		rw.Header().Set("Content-Type", "application/problem+json")
		rw.WriteHeader(422)
		_ = json.NewEncoder(rw).Encode(map[string]any{"title": "No es válido", "code": f.Code, "action": "Corrígelo.", "errors": f.Fields})
	default:
		refuse(rw, 500, "internal", err.Error())
	}
}

func (w *world) putAssistant(rw http.ResponseWriter, r *http.Request, project string) {
	a := eligibility.Assistant{Active: true}
	_ = json.NewDecoder(r.Body).Decode(&a)
	_, err := w.ai.PutAssistant(r.Context(), w.account, project, a)
	w.done(rw, err)
}

func blockOf(b *eligibility.Block) map[string]any {
	return map[string]any{"reason": b.Reason, "message": b.Message().In(locale.Spanish), "creditBalance": b.CreditBalance, "action": b.Action().In(locale.Spanish), "remedy": b.Remedy, "provider": b.Provider}
}

func (w *world) eligible(rw http.ResponseWriter, r *http.Request) {
	q := eligibility.Question{Account: w.account, ProjectID: r.URL.Query().Get("project_id"), Need: eligibility.NominalNeed()}
	if id := r.URL.Query().Get("conversationId"); id != "" {
		c, err := w.Chat(r.Context(), w.account, id)
		if err != nil {
			refuse(rw, 404, "chat.not_found", "No existe.")
			return
		}
		q.ProjectID, q.Mode = c.ProjectID, eligibility.Mode(c.Automation)
	}
	plan, block := w.decide(r.Context(), q)
	if block != nil {
		tell(rw, 200, map[string]any{"canExecute": false, "block": blockOf(block)})
		return
	}
	tell(rw, 200, map[string]any{
		"canExecute": true, "provider": plan.Provider, "model": plan.Model, "fallback": plan.Swap,
		"automation": map[string]any{"mode": plan.Mode, "delay_ms": plan.Assistant.Automation.DelayMS},
	})
}

// move grants, adjusts and refunds; the lock is held.
func (w *world) move(rw http.ResponseWriter, r *http.Request, body map[string]any) {
	amount, _ := body["amount"].(float64)
	kind, _ := body["kind"].(string)
	reason, _ := body["reason"].(string)
	if kind == "grant" && amount < 1 || kind != "refund" && amount == 0 {
		w.done(rw, credit.ErrMovement.At(fault.Field{Loc: []any{"body", "amount"}, Msg: "a grant is from 1", Type: "out_of_range"}))
		return
	}
	e := credit.Entry{ID: w.ids.New(w.now()), Kind: credit.Kind(kind), Amount: int64(amount), Reason: reason, Actor: "ana", At: w.now()}
	if of, ok := body["of"].(string); ok {
		i := slices.IndexFunc(w.purse.ledger, func(e credit.Entry) bool { return e.ID == of })
		e.Of, e.Amount = of, -w.purse.ledger[i].Amount
	}
	w.keys = append(w.keys, r.Header.Get("Idempotency-Key"))
	w.purse.ledger = append([]credit.Entry{e}, w.purse.ledger...)
	tell(rw, 201, e)
}

// narrate streams the pieces of the tale, until it is stopped. The lock is held, but not while it waits.
func (w *world) narrate(chatID string) conversation.Message {
	stop := make(chan struct{})
	w.stops[chatID] = stop
	tale, next := w.tale, w.next
	w.mu.Unlock()
	said, stopped := tellTale(w.hub, chatID, tale, next, stop)
	w.mu.Lock()
	delete(w.stops, chatID)
	m := w.say(chatID, conversation.RoleAssistant, conversation.KindText, "", said)
	m.By = &conversation.By{Provider: "demo", Model: "reglas", Stopped: stopped}
	w.signed(chatID, m.By)
	w.noted(chatID)
	w.hub.push("ai:text_end", map[string]any{"conversationId": chatID, "turn": "t-" + chatID})
	return m
}

func tellTale(h *hub, chatID string, tale []string, next, stop chan struct{}) (said string, stopped bool) {
	var b strings.Builder
	for i, piece := range tale {
		select {
		case <-next:
		case <-stop:
			return b.String(), true
		case <-time.After(30 * time.Second):
			return "nobody asked for piece " + strconv.Itoa(i), false
		}
		h.push("ai:text", map[string]any{"conversationId": chatID, "turn": "t-" + chatID, "offset": b.Len(), "text": piece})
		b.WriteString(piece)
	}
	select {
	case <-next:
	case <-stop:
		return b.String(), true
	}
	return b.String(), false
}
