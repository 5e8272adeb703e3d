package webui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

const mailURL = "https://mail.example.org/v1"

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func is(value string, how ref.Comparison, to string) ref.Condition {
	return ref.Condition{Value: value, Is: how, To: raw(to)}
}

// fullPlan returns a plan with every part that a step may have.
func fullPlan(now time.Time) plan.Plan {
	busy := is("${s1.body.items[0].busy}", ref.Equal, "true")
	when := ref.Condition{All: []ref.Condition{is("${s1.status}", ref.Equal, "200"), {Any: []ref.Condition{{Value: "${s1.body.items[0].id}", Is: ref.Present}, {Not: &busy}}}}}
	p := plan.Plan{
		ID: "01JPLAN0000000000000000000", Revision: 1, Goal: "Reservar una sala y avisar a todos", ExpiresAt: now.Add(24 * time.Hour).Truncate(time.Second),
		Steps: []plan.Step{
			{ID: plan.EffectOf("s1"), Title: "Buscar salas libres", MCPID: "rooms", Method: "GET", Path: "/rooms", Query: raw(`{"capacity":6}`), Needs: []string{}, Risk: plan.Read},
			{
				ID: plan.EffectOf("s2"), Title: "Reservar la primera", MCPID: "rooms", Method: "POST", Path: "/reservations", Body: raw(`{"room_id":"${s1.body.items[0].id}","ticket":9007199254740993}`), Needs: []string{"s1"}, Risk: plan.Write,
				When:    &when,
				Undo:    &plan.Undo{Call: plan.Call{MCPID: "rooms", Method: "DELETE", Path: "/reservations/${s2.body.id}"}, Suggested: true},
				Verify:  &plan.Check{Call: plan.Call{MCPID: "rooms", Method: "GET", Path: "/reservations", Query: raw(`{"ticket":"9007199254740993"}`)}, Expect: is("${check.body.total}", ref.AtLeast, "1")},
				Targets: []plan.Target{{Ref: "s1.body.items[0].id", Value: raw(`"a1"`), Label: "Sala Norte, 6"}},
			},
			{
				ID: plan.EffectOf("s3"), Title: "Avisar", MCPID: "mail", Method: "POST", Path: "/mails", Body: raw(`{"to":"${item.email}","text":"Sala reservada"}`), Needs: []string{"s1", "s2"}, Risk: plan.Write,
				ForEach: "${s1.body.people}", Undo: &plan.Undo{Call: plan.Call{MCPID: "mail", Method: "POST", Path: "/recalls", Body: raw(`{"id":"${s3.body.id}"}`)}},
			},
			{
				ID: plan.EffectOf("s4"), Title: "Borrar la reserva vieja", MCPID: "rooms", Method: "DELETE", Path: "/reservations/7", Needs: []string{"s2"}, Risk: plan.Destructive,
				Ask: &plan.Ask{Reason: "Destruye datos y no se puede deshacer.", Another: true, Minutes: 90},
			},
		},
	}
	bind := func(id, server, name, base string) {
		step, _ := p.Step(plan.ParseEffect(id))
		p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.ParseEffect(id), MCPID: server, ServerName: name, BaseURL: base, Template: templateOf(step.Path), Fingerprint: "f"})
	}
	for _, id := range []string{"s1", "s2", "s4", "undo:s2", "check:s2"} {
		bind(id, "rooms", "Salas de demostración", roomsURL)
	}
	p.Bindings[0].Query = "capacity=6"
	p.Bindings[4].Query = "ticket=9007199254740993"
	bind("s3", "mail", "Correo", mailURL)
	bind("undo:s3", "mail", "Correo", mailURL)
	return p
}

// fullRun returns fullPlan confirmed by ana, in a status, with states of effects.
func fullRun(status plan.Status, states ...plan.StepState) plan.Run {
	r := draft(fullPlan(noon))
	r.Status, r.User, r.Confirmer, r.EventSeq = status, "ana", "ana", 9
	for _, s := range states {
		found := false
		for i := range r.Steps {
			if r.Steps[i].StepID == s.StepID {
				r.Steps[i], found = s, true
			}
		}
		if !found {
			r.Steps = append(r.Steps, s)
		}
	}
	return r
}

func doneState(id string, status int) plan.StepState {
	return plan.StepState{StepID: plan.ParseEffect(id), Status: plan.StepDone, Attempts: 1, Result: &plan.Result{Status: status, Bytes: 11, Body: raw(`{"id":"r1"}`), SHA256: "ab"}}
}

func waitingRun() plan.Run {
	return fullRun(plan.Waiting, doneState("s1", 200), doneState("s2", 201), plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepSkipped}, plan.StepState{
		StepID: plan.EffectOf("s4"), Status: plan.StepWaiting, Approval: &plan.Approval{
			Ask: plan.Ask{Reason: "Destruye datos y no se puede deshacer.", Another: true, Minutes: 90}, Method: "DELETE", URL: roomsURL + "/reservations/7?all=%3Cb%3E",
			Body: raw(`{"why":"` + strings.Repeat("x", 2000) + ` FIN"}`), Request: "c0ffee", Token: "s3cret-token", AskedAt: noon, ExpiresAt: noon.Add(90 * time.Minute),
		},
	})
}

func severalItems() plan.Run {
	states := []plan.StepState{
		{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Reused: "01JRUN00000000000000000009", Result: &plan.Result{Status: 200, Bytes: 300_000, Apart: 2, Body: raw(`"{\"items\":["`)}},
		{StepID: plan.EffectOf("s2"), Status: plan.StepDone, Attempts: 3, Result: &plan.Result{Status: 201, Bytes: 11, Body: raw(`{"id":"r1"}`)}, Command: &plan.Command{Was: "ls <x>", Now: "ls -la", Because: "Faltaba una opción.", Asked: true}},
		{StepID: plan.EffectOf("s3"), Status: plan.StepRunning, Items: 4, Expanded: true},
		doneState("s3[0]", 202),
		{StepID: plan.ParseEffect("s3[1]"), Status: plan.StepFailed, Attempts: 1, Result: &plan.Result{Status: 422, Bytes: 2, Body: raw(`{}`)}, Error: &plan.Failure{Message: "No existe ese buzón."}},
		{StepID: plan.ParseEffect("s3[2]"), Status: plan.StepRunning, Attempts: 1},
	}
	r := fullRun(plan.Running, states...)
	r.Retries = "01JRUN00000000000000000009"
	return r
}

func undoneRun() plan.Run {
	r := fullRun(plan.Failed, doneState("s1", 200), doneState("s2", 201), plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepFailed, Items: 3, Expanded: true, Error: &plan.Failure{Message: "Falló un elemento."}},
		doneState("s3[0]", 202), doneState("s3[1]", 202), plan.StepState{StepID: plan.ParseEffect("s3[2]"), Status: plan.StepFailed, Error: &plan.Failure{Message: "No existe ese buzón."}},
		plan.StepState{StepID: plan.EffectOf("s4"), Status: plan.StepCancelled}, doneState("undo:s2", 204), doneState("undo:s3[0]", 200),
		plan.StepState{StepID: plan.ParseEffect("undo:s3[1]"), Status: plan.StepFailed, Error: &plan.Failure{Message: "Ya se leyó."}})
	at := noon
	r.UndoAt = &at
	return r
}

func doubtfulRun(resolution *plan.Resolution) plan.Run {
	return fullRun(plan.InDoubt, doneState("s1", 200), plan.StepState{
		StepID: plan.EffectOf("s2"), Status: plan.StepInDoubt, Attempts: 1, Checks: 3, Error: &plan.Failure{Message: "La petición se envió y no llegó respuesta."}, Resolved: resolution,
		Last: plan.Attempt{Number: 1, URL: roomsURL + "/reservations", Body: raw(`{"room_id":"a1","ticket":9007199254740993}`), SentAt: noon.Add(-3 * time.Minute), Open: true},
	}, plan.StepState{StepID: plan.EffectOf("s3"), Status: plan.StepCancelled}, plan.StepState{StepID: plan.EffectOf("s4"), Status: plan.StepCancelled})
}

// editedRun returns fullPlan after an edit, and both revisions.
func editedRun() (plan.Run, []plan.Revision) {
	r := draft(fullPlan(noon))
	before := plan.Revision{Plan: r.Plan, Digest: r.Digest, By: "ana", Model: "gpt-4o-mini", At: noon.Add(-time.Hour)}
	p := fullPlan(noon)
	p.Revision, p.Replaces, p.Goal = 2, r.Digest, "Reservar otra sala\u202e y avisar"
	p.Steps[1].Body = raw(`{"room_id":"${s1.body.items[1].id}","ticket":9007199254740993}`)
	p.Steps[1].Targets = []plan.Target{{Ref: "s1.body.items[1].id", Value: raw(`"b2"`), Label: "Sala Sur, 8"}}
	p.Steps[1].Ask = &plan.Ask{Reason: "Sala <grande>", Minutes: 30}
	only := is("${s1.status}", ref.Less, "300")
	p.Steps[1].When = &only
	p.Steps = p.Steps[:3]
	r = draft(p)
	return r, []plan.Revision{before, {Plan: p, Digest: r.Digest, By: "luz", At: noon.Add(-time.Minute)}}
}

func TestADoubtNamesTheToolThatWasCalled(t *testing.T) {
	r := doubtfulRun(nil)
	r.Plan.Steps[1].Tool, r.Plan.Steps[1].Method, r.Plan.Steps[1].Path = "book_room", "", ""
	c := newCard(r, nil, locale.Spanish, noon)
	if got := c.Steps[1].Doubt; got == nil || got.Method != "book_room" {
		t.Errorf("%+v", got)
	}
}

// TestAnEditShowsAMovedServer: the changes include the new address of a call, also when the call itself was edited.
func TestAnEditShowsAMovedServer(t *testing.T) {
	r, list := editedRun()
	for i := range list[1].Plan.Bindings {
		list[1].Plan.Bindings[i].BaseURL = "https://elsewhere.example"
	}
	r.Plan = list[1].Plan
	digest, err := r.Plan.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.Digest, list[1].Digest = digest, digest
	c := newCard(r, nil, locale.Spanish, noon)
	c.setRevisions(r, list, locale.Spanish)
	for _, v := range c.Changes {
		if v.Step == 2 && strings.Contains(string(v.After), "elsewhere.example") {
			return
		}
	}
	t.Errorf("%+v", c.Changes)
}

// TestACardNamesTheTypeOfABody: a body that is not plain JSON is shown with the type in which it is sent.
func TestACardNamesTheTypeOfABody(t *testing.T) {
	r, _ := editedRun()
	if got := renderFor(t, r, nil, auth.Principal{}, locale.Spanish); strings.Contains(got, "multipart") {
		t.Fatal("nothing is sent as parts")
	}
	for i := range r.Plan.Bindings {
		r.Plan.Bindings[i].Media = "multipart/form-data"
	}
	if got := renderFor(t, r, nil, auth.Principal{}, locale.Spanish); !strings.Contains(got, `Cuerpo <span class="meta">multipart/form-data</span>`) {
		t.Error(got)
	}
}

func renderFor(t *testing.T, r plan.Run, list []plan.Revision, who auth.Principal, tag locale.Tag) string {
	t.Helper()
	var b bytes.Buffer
	c := newCard(r, nil, tag, noon)
	c.setRevisions(r, list, tag)
	c.setPermissions(who, r, "sol", list)
	if err := loadViews(loadAssets(), at(noon)).render(&b, tag, "card", c); err != nil {
		t.Fatal(err)
	}
	return string(dense(b.String()))
}

var (
	luz     = auth.Principal{Account: "acc", User: "luz", Scopes: []auth.Scope{auth.ScopeChat, auth.ScopeApprove}}
	visitor = auth.Principal{Account: "acc", User: "paz", Scopes: []auth.Scope{auth.ScopeChat}}
)

func TestCardsOfEveryEndLookLikeTheirGoldens(t *testing.T) {
	changed, list := editedRun()
	cancelled := draft(fullPlan(noon))
	cancelled.Status, cancelled.Reason = plan.Cancelled, "Es <demasiado> caro\u202e."
	for name, c := range map[string]struct {
		run  plan.Run
		list []plan.Revision
		tag  locale.Tag
	}{
		"card_full.html":     {draft(fullPlan(noon)), nil, locale.Spanish},
		"card_full_en.html":  {draft(fullPlan(noon)), nil, locale.English},
		"card_revised.html":  {changed, list, locale.Spanish},
		"card_waiting.html":  {waitingRun(), nil, locale.Spanish},
		"card_items.html":    {severalItems(), nil, locale.Spanish},
		"card_undone.html":   {undoneRun(), nil, locale.Spanish},
		"card_unsure.html":   {doubtfulRun(nil), nil, locale.Spanish},
		"card_resolved.html": {doubtfulRun(&plan.Resolution{Outcome: plan.OutcomeNotDone, By: "luz", Note: "No aparece en la agenda", At: noon.Add(-time.Minute)}), nil, locale.Spanish},
		"card_rejected.html": {cancelled, nil, locale.Spanish},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, []byte(renderFor(t, c.run, c.list, luz, c.tag))) })
	}
}

// TestOnlyAnApproverHasTheButtons: a viewer who must not decide has no button, and the token that resumes the run
// is never rendered.
func TestOnlyAnApproverHasTheButtons(t *testing.T) {
	both := auth.Principal{Account: "acc", User: "luz", Scopes: []auth.Scope{auth.ScopeApprove}}
	confirmer := auth.Principal{Account: "acc", User: "ana", Scopes: auth.Scopes()}
	changer := auth.Principal{Account: "acc", User: "eva", Scopes: auth.Scopes()}
	list := []plan.Revision{{Plan: waitingRun().Plan, By: "ana"}, {Plan: waitingRun().Plan, By: "eva"}}
	anyone := waitingRun()
	anyone.Steps[3].Approval.Another = false
	goesOn := waitingRun()
	goesOn.Besides = []string{luz.User}
	over := waitingRun()
	over.Steps[3].Approval.ExpiresAt = noon
	decided := waitingRun()
	decided.Steps[3].Approval.Decision, decided.Steps[3].Approval.By = plan.Approved, "luz"
	stopping := waitingRun()
	stopping.CancelAt = &noon
	ended := waitingRun()
	ended.Status = plan.Cancelled
	for name, c := range map[string]struct {
		run plan.Run
		who auth.Principal
		may bool
	}{
		"who changed it":                 {waitingRun(), changer, false},
		"who wrote what it goes on from": {goesOn, luz, false},
		"another, with the scope":        {waitingRun(), luz, true}, "another, with nothing else": {waitingRun(), both, true},
		"another, without the scope": {waitingRun(), visitor, false}, "who confirmed": {waitingRun(), confirmer, false},
		"whom the session speaks for": {waitingRun(), auth.Principal{Account: "acc", User: "sol", Scopes: auth.Scopes()}, false},
		"anyone":                      {anyone, visitor, true}, "anyone, who confirmed": {anyone, confirmer, true}, "expired": {over, luz, false}, "decided": {decided, luz, false},
		"being stopped": {stopping, luz, false}, "over": {ended, luz, false},
	} {
		got := renderFor(t, c.run, list, c.who, locale.Spanish)
		if has := strings.Contains(got, `data-action="approve-step"`); has != c.may || has != strings.Contains(got, `data-action="refuse-step"`) {
			t.Errorf("%s: the buttons are there: %v", name, has)
		}
		if strings.Contains(got, "s3cret-token") {
			t.Errorf("%s: the token is on the page", name)
		}
	}
}

// TestAnApprovalShowsTheCompleteRequest (guarantee I32), including its end.
func TestAnApprovalShowsTheCompleteRequest(t *testing.T) {
	got := renderFor(t, waitingRun(), nil, luz, locale.Spanish)
	for _, want := range []string{strings.Repeat("x", 2000) + " FIN", "/reservations/7?all=%3Cb%3E", "Termina así"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %.40q", want)
		}
	}
}

// TestCrossingDataIsShownForElementsUndosAndChecks (guarantee I31): an element's data belongs to the origin of its
// list, and an undo or a check may send data as well.
func TestCrossingDataIsShownForElementsUndosAndChecks(t *testing.T) {
	const to = "<code>http://127.0.0.1:9100</code> → <code>https://mail.example.org</code>"
	if got := renderFor(t, draft(fullPlan(noon)), nil, luz, locale.Spanish); strings.Count(got, to) != 1 {
		t.Errorf("an element's data crosses %d times", strings.Count(got, to))
	}
	p := fullPlan(noon)
	p.Steps = p.Steps[:2]
	p.Bindings[3].BaseURL, p.Bindings[4].BaseURL = mailURL, mailURL
	p.Steps[1].Verify.Path = "/reservations/${s1.body.id}"
	if got := renderFor(t, draft(p), nil, luz, locale.Spanish); strings.Count(got, to) != 2 {
		t.Errorf("undo and check: %d", strings.Count(got, to))
	}
}

// TestACrossingOfAnUndoOrACheckIsUnfolded (guarantee I31), also that of an element, and its step is in no table.
func TestACrossingOfAnUndoOrACheckIsUnfolded(t *testing.T) {
	for name, set := range map[string]func(p *plan.Plan){
		"":      func(*plan.Plan) {},
		"undo":  func(p *plan.Plan) { p.Steps[1].Undo.Path = "/x/${s1.body.id}" },
		"check": func(p *plan.Plan) { p.Steps[1].Verify.Path = "/x/${s1.body.id}" },
		"element": func(p *plan.Plan) {
			p.Steps[1].ForEach, p.Steps[1].Undo.Path = "${s1.body}", "/x/${item.id}"
		},
	} {
		p := roomPlan(noon)
		s2 := p.Steps[1].ID
		p.Steps[1].Undo = &plan.Undo{Call: plan.Call{Method: "DELETE", Path: "/x"}}
		p.Steps[1].Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/x"}, Expect: is("${check.status}", ref.Equal, "200")}
		p.Bindings = append(p.Bindings, plan.Binding{StepID: plan.UndoOf(s2), BaseURL: mailURL}, plan.Binding{StepID: plan.CheckOf(s2), BaseURL: mailURL})
		set(&p)
		got := newCard(draft(p), nil, locale.Spanish, noon).Steps[1]
		if crosses := len(got.Undo.Crossing)+len(got.Check.Crossing) > 0; crosses != (name != "") || got.Request != crosses {
			t.Errorf("%q: crosses %v, unfolded %v", name, crosses, got.Request)
		}
	}
}

func TestADoubtIsResolvedOnlyWhenTheRunIsOver(t *testing.T) {
	r := doubtfulRun(nil)
	if got := renderFor(t, r, nil, luz, locale.Spanish); strings.Count(got, "resolve-step") != 3 || strings.Contains(got, "retry-run") {
		t.Error(got)
	}
	r.Status = plan.Running
	if got := renderFor(t, r, nil, luz, locale.Spanish); strings.Contains(got, "resolve-step") {
		t.Error("a doubt of a run that goes on can be resolved")
	}
	if got := renderFor(t, doubtfulRun(&plan.Resolution{Outcome: plan.OutcomeNotDone, By: "luz", At: noon}), nil, luz, locale.Spanish); strings.Contains(got, "resolve-step") || !strings.Contains(got, "retry-run") {
		t.Error(got)
	}
}

func TestAnUndoInDoubtHasNoRetryButton(t *testing.T) {
	r := doubtfulRun(nil)
	for i, st := range r.Steps {
		if st.Status == plan.StepInDoubt {
			r.Steps[i].Status, r.Steps[i].Error = plan.StepDone, nil
			st.StepID = plan.UndoOf(st.StepID)
			at := noon
			r.UndoAt, r.Steps = &at, append(r.Steps, st)
			break
		}
	}
	if got := renderFor(t, r, nil, luz, locale.Spanish); strings.Count(got, "resolve-step") != 2 || strings.Contains(got, `data-outcome="retry"`) {
		t.Error(got)
	}
}

func TestARunIsContinuedOnlyWhenStepsRemain(t *testing.T) {
	all := []plan.StepState{doneState("s1", 200), doneState("s2", 201), doneState("s3", 200), doneState("s4", 204)}
	for name, c := range map[string]struct {
		run  plan.Run
		want bool
	}{
		"done": {fullRun(plan.Done, all...), false}, "cancelled with all done": {fullRun(plan.Cancelled, all...), false},
		"failed": {fullRun(plan.Failed, all[:2]...), true}, "running": {fullRun(plan.Running, all[:2]...), false},
		"undone": {fullRun(plan.Cancelled, append(all, doneState("undo:s2", 204))...), true}, "draft": {draft(fullPlan(noon)), false},
	} {
		if got := newCard(c.run, nil, locale.Spanish, noon).Retry; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestConditionsAreShownInWords(t *testing.T) {
	tags := strings.NewReplacer(`<span class="j-n">`, "", `<span class="j-s">`, "", `<span class="j-l">`, "", "</span>", "", "&#34;", `"`)
	say := func(c ref.Condition, tag locale.Tag) string {
		a := newBuilder(draft(fullPlan(noon)), &card{}, words{tag: tag}, time.Time{})
		text := tags.Replace(string(a.pen.condition(c)))
		for {
			from := strings.Index(text, `<span class="ref"`)
			if from < 0 {
				return text
			}
			text = text[:from] + text[from+strings.IndexByte(text[from:], '>')+1:]
		}
	}
	x := is("${s1.status}", ref.Equal, "200")
	y := is("${s1.body.name}", ref.NotEqual, `"a <b>\u202e"`)
	for want, c := range map[string]ref.Condition{
		"s1.status es 200": x,
		`s1.body.name no es "a &lt;b&gt;` + "⟦U+202E⟧" + `"`:       y,
		"no se cumple que s1.status es 200":                        {Not: &x},
		"s1.status es 200 y (s1.status es 200 o s1.status es 200)": {All: []ref.Condition{x, {Any: []ref.Condition{x, x}}}},
		"s1.body.id tiene valor":                                   {Value: "${s1.body.id}", Is: ref.Present},
		"s1.status es menor que s2.status":                         is("${s1.status}", ref.Less, `"${s2.status}"`),
		"nada &lt;i&gt; odd 1":                                     is("nada <i>", "odd", "1"),
	} {
		if got := strings.ReplaceAll(say(c, locale.Spanish), `<span class="esc">`, ""); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	if got := say(x, locale.English); got != "s1.status is 200" {
		t.Error(got)
	}
}
