package webui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

const fixedID = "01J00000000000000000000001"

// recordedWorld returns a world with a run of a fixed id, run by the fake itself, and its events at noon.
func recordedWorld(t *testing.T, words string) (*world, plan.Run) {
	t.Helper()
	w := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	w.furnish()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proposeFixed(words)
	w.start(fixedID)
	made := w.runs[fixedID]
	for made.Status.Active() && made.Status != plan.Waiting {
		w.advance(&made)
	}
	if made.Status.Terminal() {
		made.Link = 1
		w.links, w.signing = signedLink(t, made)
	}
	w.runs[fixedID] = made
	return w, made
}

// proposeFixed proposes a plan, as a run of the fixed id.
func (w *world) proposeFixed(words string) plan.Run {
	w.chats["c1"] = w.chats[""]
	made := w.propose("c1", *planOf(words, noon))
	made.ID = fixedID
	w.runs[fixedID], w.planned[fixedID] = made, []plan.Revision{{Plan: made.Plan, Digest: made.Digest, By: "ana", Model: "reglas", At: noon}}
	made.EventSeq, made.Chain = 0, ""
	w.tellEvent(&made, plan.EventProposed, "", map[string]any{"digest": made.Digest, "goal": made.Plan.Goal, "model": "reglas", "by": "ana", "run_id": made.ID, "chat_id": made.ChatID})
	w.runs[fixedID] = made
	return made
}

// signingKey is a private key for this test only.
const signingKey = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n-----END PRIVATE KEY-----\n"

// signedLink returns a chain that begins with the run, and its key.
func signedLink(t *testing.T, r plan.Run) (map[int]receipt.Link, []receipt.Key) {
	t.Helper()
	ctx := context.Background()
	signer, err := receipt.NewLocal([]byte(signingKey))
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.Key(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l, err := receipt.Link{
		Account: r.Account, RunID: r.ID, Status: r.Status, Digest: r.Digest, Events: r.EventSeq, RunHead: r.Chain,
	}.Chained(receipt.Link{}, noon)
	if err == nil {
		l, err = l.Signed(ctx, signer, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[int]receipt.Link{1: l}, []receipt.Key{key}
}

func TestViewsOfPlansLookLikeTheirGoldens(t *testing.T) {
	done, _ := recordedWorld(t, "reserva")
	waits, _ := recordedWorld(t, "borra")
	doubt, _ := recordedWorld(t, "duda")
	ruled := newWorld(at(noon), Facts{Provider: "openai", Model: "gpt-4o-mini"})
	ruled.furnish()
	ruled.rules = rule.Set{Version: 3, By: "luz<b>", UpdatedAt: noon.Add(-5 * time.Minute), Rules: []rule.Rule{
		{ID: "r1", Effect: rule.Ask, Method: "POST", Path: "/orders*", Over: &rule.Over{At: "body.total", Most: "500"}, Another: true, Minutes: 90, Reason: "Pedidos <grandes>"},
		{ID: "r2", Effect: rule.Deny, Server: "bank", Reason: "Nunca\u202e"},
		{ID: "r3", Effect: rule.Allow, Path: "move_*", Reason: "Es reversible"},
		{ID: "r4", Effect: "odd", Reason: "Nadie sabe"},
	}}
	full := newWorld(at(noon), Facts{})
	r := draft(fullPlan(noon))
	r.ID = fixedID
	full.runs[fixedID] = r
	for name, c := range map[string]struct {
		w    *world
		path string
		who  auth.Principal
	}{
		"receipt.html": {done, "/?view=receipt&run=" + fixedID, ana}, "receipt_waiting.html": {waits, "/?view=receipt&run=" + fixedID, ana},
		"receipt_doubt.html": {doubt, "/?view=receipt&run=" + fixedID, ana}, "rules.html": {ruled, "/ui/rules", ana}, "rules_seen.html": {ruled, "/ui/rules", visitor},
		"edit.html": {full, "/ui/runs/" + fixedID + "/edit", ana},
	} {
		t.Run(name, func(t *testing.T) {
			body := get(t, c.w.page, c.path, c.who).Body.String()
			golden(t, name, dense(strings.ReplaceAll(body, "/assets/"+loadAssets().version, "/assets/VERSION")))
		})
	}
}

// TestRulesAreShownAsASentence: an unknown effect is not shown as harmless.
func TestRulesAreShownAsASentence(t *testing.T) {
	servers := []tool.Server{{ID: "b", Name: "Banco <i>"}}
	plainly := strings.NewReplacer("<code>", "", "</code>", "", "&lt;", "<", "&gt;", ">")
	for want, r := range map[string]rule.Rule{
		"Pregunta antes de POST /orders* cuando body.total pasa de 500":            {Effect: rule.Ask, Method: "POST", Path: "/orders*", Over: &rule.Over{At: "body.total", Most: "500"}},
		"Pregunta antes de cualquier llamada en Banco <i>, y aprueba otra persona": {Effect: rule.Ask, Server: "b", Another: true},
		"Prohíbe DELETE en b*":            {Effect: rule.Deny, Method: "DELETE", Server: "b*"},
		"Permite /x sin preguntar aparte": {Effect: rule.Allow, Path: "/x"},
		"Prohíbe cualquier llamada":       {Effect: "odd"},
	} {
		if got := plainly.Replace(string(ruleSentence(r, servers, locale.Spanish))); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestTheReceiptOfARejectedPlanSaysThatNothingRan, and does not say that what was approved was done. Its events are
// told in words.
func TestTheReceiptOfARejectedPlanSaysThatNothingRan(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	w.furnish()
	w.mu.Lock()
	r := w.proposeFixed("reserva")
	r.Status = plan.Cancelled
	w.tellEvent(&r, plan.EventCancelled, "", map[string]any{"by": "ana"})
	w.runs[fixedID] = r
	w.mu.Unlock()
	body := get(t, w.page, "/?view=receipt&run="+fixedID, ana).Body.String()
	if !strings.Contains(body, "No se aprobó ni se ejecutó nada") || strings.Contains(body, "se sostiene") || strings.Contains(body, "notice good") {
		t.Error(body)
	}
	if !strings.Contains(body, `title="run.proposed">Se propuso el plan<`) {
		t.Error("its events are not told in words")
	}
}

// TestABrokenReceiptIsReported with its faults.
func TestABrokenReceiptIsReported(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"an event was changed": func(w *world) { w.events[fixedID][3].Data = json.RawMessage(`{}`) },
		"the plan was changed": func(w *world) { w.planned[fixedID][0].Plan.Steps[1].Path = "/elsewhere" },
		"its signature is another's": func(w *world) {
			l := w.links[1]
			l.Signature.Value = "AA" + l.Signature.Value[2:]
		},
		"its key is another's": func(w *world) { w.signing = nil },
		"the run says otherwise": func(w *world) {
			r := w.runs[fixedID]
			r.Status = plan.Failed
			w.runs[fixedID] = r
		},
	} {
		w, _ := recordedWorld(t, "reserva")
		if body := get(t, w.page, "/?view=receipt&run="+fixedID, ana).Body.String(); !strings.Contains(body, "El recibo se sostiene") {
			t.Fatal(body)
		}
		spoil(w)
		if body := get(t, w.page, "/?view=receipt&run="+fixedID, ana).Body.String(); !strings.Contains(body, "El recibo no se sostiene") || strings.Contains(body, "El recibo se sostiene") {
			t.Errorf("%s: it is said to hold", name)
		}
	}
	w, _ := recordedWorld(t, "reserva")
	r := w.runs[fixedID]
	r.EventSeq++ // it changed between the two reads
	w.runs[fixedID] = r
	if body := get(t, w.page, "/?view=receipt&run="+fixedID, ana).Body.String(); strings.Contains(body, "se sostiene") || !strings.Contains(body, "Aún no están todos") {
		t.Error("half a receipt is judged")
	}
}

func TestForeignAndMissingRunsHaveNoViews(t *testing.T) {
	w, _ := recordedWorld(t, "borra")
	stranger := auth.Principal{Account: "other", User: "eve", Scopes: auth.Scopes()}
	for _, path := range []string{"/?view=receipt&run=", "/?approve=", "/ui/approve/", "/ui/runs/"} {
		for _, r := range []*httptest.ResponseRecorder{get(t, w.page, path+fixedID, stranger), get(t, w.page, path+"01J00000000000000000000002", ana), get(t, w.page, path+"x", ana)} {
			if r.Code != http.StatusNotFound || strings.Contains(r.Body.String(), "Borrar la reserva") {
				t.Errorf("%s: %d", path, r.Code)
			}
		}
	}
	if r := get(t, w.page, "/ui/runs/"+fixedID+"/edit", ana); r.Code != http.StatusNotFound {
		t.Errorf("a plan that runs can be edited: %d", r.Code)
	}
	if body := get(t, w.page, "/ui/rules", stranger).Body.String(); strings.Contains(body, "data-rule=") {
		t.Error("foreign rules are shown")
	}
}

// TestASessionsUserHasNoButtons: the user for whom a chat's session speaks has no button for an approval that needs
// another person, on any page with the card.
func TestASessionsUserHasNoButtons(t *testing.T) {
	w, r := recordedWorld(t, "borra")
	r.Steps[1].Approval.Another, r.ChatID = true, "01J0000000000000000000000C"
	w.runs[fixedID] = r
	chat := w.chats["c1"]
	chat.ID, chat.UserID, chat.ActiveRunID = r.ChatID, "sol", fixedID
	w.chats[chat.ID] = chat
	w.say(chat.ID, conversation.RoleAssistant, conversation.KindPlan, fixedID, "El plan.")
	for _, path := range []string{"/ui/runs/" + fixedID, "/ui/approve/" + fixedID + "?step=s2", "/ui/chats/" + chat.ID, "/?chat=" + chat.ID} {
		for user, may := range map[string]bool{"sol": false, "eva": true} {
			got := get(t, w.page, path, auth.Principal{Account: ana.Account, User: user, Scopes: auth.Scopes()})
			if has := strings.Contains(got.Body.String(), `data-action="approve-step"`); got.Code != 200 || has != may {
				t.Errorf("%s, %s: %d, the button is there: %v", path, user, got.Code, has)
			}
		}
	}
}

// TestViewingAnApprovalWritesNothing: following a link changes nothing, whatever method a preview uses.
func TestViewingAnApprovalWritesNothing(t *testing.T) {
	w, before := recordedWorld(t, "borra")
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r := httptest.NewRequest(method, "/?approve="+fixedID+"&step=s2&decision=approve", nil)
		rec := httptest.NewRecorder()
		w.page.ServeHTTP(rec, r.WithContext(auth.NewContext(r.Context(), ana)))
		if rec.Code != 200 || method == http.MethodGet && !strings.Contains(rec.Body.String(), `data-asked="approval-`+fixedID+`-s2"`) {
			t.Errorf("%s: %d", method, rec.Code)
		}
	}
	if now := w.runs[fixedID]; now.EventSeq != before.EventSeq || now.Steps[1].Approval.Decision != "" {
		t.Errorf("%+v", now.Steps[1])
	}
}

// TestALinkSurvivesTheSignIn: after the sign-in the viewer is on the linked page. A request from another site has
// no session cookie, so the sign-in page links on.
func TestALinkSurvivesTheSignIn(t *testing.T) {
	w, _ := recordedWorld(t, "borra")
	door := get(t, w.page, "/?approve="+fixedID+"&step=s2").Body.String()
	if !strings.Contains(door, `href="/?approve=`+fixedID+`&amp;step=s2"`) || strings.Contains(door, "Borrar") {
		t.Error(door)
	}
	_ = w.PutToken(t.Context(), auth.Token{Hash: hashOf("tok"), Kind: auth.KindToken, Account: "acc", User: "ana", Scopes: ana.Scopes, ExpiresAt: noon.Add(time.Hour)})
	for referer, want := range map[string]string{
		"http://example.com/?approve=" + fixedID: "approve=" + fixedID, "http://evil.example/?approve=" + fixedID: "", "": "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/signin", strings.NewReader(url.Values{"token": {"tok"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Referer", referer)
		rec := httptest.NewRecorder()
		w.page.ServeHTTP(rec, r)
		if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != "/signin?in="+url.QueryEscape(want) {
			t.Errorf("%q: %d to %q", referer, rec.Code, got)
		}
	}
}

func TestObjectsAreForms(t *testing.T) {
	for text, want := range map[string]int{
		`{"a":1,"b":"x","c":true}`: 3, `{"a":1.50e3}`: 1, `{"a":null}`: 1, `{"a":[1]}`: 1, `{"a":{"b":1}}`: 1, `[1]`: 0, `"x"`: 0, `{"a":1,"a":2}`: 0, `{}`: 0, `{"a":`: 0,
		`{"a":"\u202e"}`: 1, `7`: 0, "": 0, "null": 0,
	} {
		p := partOf("body", json.RawMessage(text), nil)
		if p.Flat != (want > 0) || p.Flat && len(p.Members) != want {
			t.Errorf("%s: %+v", text, p)
		}
		for _, m := range p.Members {
			if !strings.Contains(text, m.Raw) {
				t.Errorf("%s: %q is not as it was written", text, m.Raw)
			}
		}
	}
}

// TestATextOfSeveralLinesIsLong: an input of one line would drop a line break.
func TestATextOfSeveralLinesIsLong(t *testing.T) {
	for text, want := range map[string]bool{`"a b"`: false, `"a\nb"`: true, `"a\rb"`: true, `"a\u000ab"`: true, `"a\\nb"`: false} {
		p := partOf("body", json.RawMessage(`{"note":`+text+`}`), nil)
		if len(p.Members) != 1 || p.Members[0].Long != want {
			t.Errorf("%s: %+v", text, p.Members)
		}
	}
}

// TestUneditedPartsAreUnchanged: the rest of a step is an equal proposal, except for an undo that was only
// suggested.
func TestUneditedPartsAreUnchanged(t *testing.T) {
	p := fullPlan(noon)
	view, err := newEdit(draft(p), func(plan.Step) (tool.Operation, bool) { return tool.Operation{}, false })
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range view.Steps {
		var back plan.ProposedStep
		if err := json.Unmarshal([]byte(s.Rest), &back); err != nil {
			t.Fatal(err)
		}
		was := p.Steps[i]
		if back.ID != was.ID.String() || back.MCPID != was.MCPID || back.Method != was.Method || s.Each != was.ForEach || (s.When == "") != (was.When == nil) || (back.Verify == nil) != (was.Verify == nil) {
			t.Errorf("%s became %s", was.ID, s.Rest)
		}
		if kept := was.Undo != nil && !was.Undo.Suggested; kept != (back.Undo != nil) {
			t.Errorf("%s: undo %v", was.ID, back.Undo)
		}
		var when ref.Condition
		if was.When != nil && (json.Unmarshal([]byte(s.When), &when) != nil || len(when.All) != 2 || when.All[1].Any[0].Is != ref.Present) {
			t.Errorf("%s", s.When)
		}
	}
}
