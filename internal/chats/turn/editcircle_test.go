package turn_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/chats/turn"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
	"piloto/internal/tools/schema"
	"piloto/internal/tools/tool"
)

const iban = "ES9121000418450200051332"

// carrying is a plan whose first step would be read for its card, and carries what the shop answered.
const carrying = `[{"title":"a","mcp_id":"SERVER","method":"GET","path":"/bookings/` + iban + `"},{"title":"b","mcp_id":"SERVER","method":"POST","path":"/bookings","body":{"room":"${s1.body.id}","note":"x"}}]`

// letPreview lets «Salas» be read for cards, and a shop by turns and for cards. The shop answers with an IBAN.
func (w *world) letPreview(t *testing.T, circles ...string) tool.Server {
	t.Helper()
	reader := step.Reader{Stores: w.StepStores(), Schemas: schema.Compiler{}, Sender: w, Log: slog.New(slog.DiscardHandler)}
	w.service.Reads, w.service.Previews = reader, step.Preview{Reader: reader}
	shop := w.register(t)
	circle := strings.Join(circles, "")
	w.reads(t, w.Server.ID, tool.ReadsPreview, circle)
	w.reads(t, shop.ID, tool.ReadsOn, circle)
	w.Answer(func(tool.Request) (tool.Answer, error) {
		return tool.Answer{Status: 200, Body: []byte(`{"id":"` + iban + `"}`)}, nil
	})
	return shop
}

// leaks counts the reads that carried the IBAN.
func (w *world) leaks() int {
	n := 0
	for _, r := range w.Requests() {
		if r.Method == "GET" && strings.Contains(r.URL, iban) {
			n++
		}
	}
	return n
}

func (w *world) carry(t *testing.T, shop tool.Server) plan.Run {
	t.Helper()
	w.model.answers = []any{
		calls("look", lookAt(shop.ID, "/orders/1")), calls("propose_plan", `{"goal":"Reservar","steps":`+strings.ReplaceAll(carrying, "SERVER", w.Server.ID)+`}`),
	}
	reply := w.send(t, "reserva lo del pedido")
	if reply.Run == nil {
		t.Fatalf("%+v", reply.Message)
	}
	return *reply.Run
}

// TestAnEditOpensNoCircle (guarantee I31): what a draft may have data of stays with it, whoever changes it, and whatever
// they change.
func TestAnEditOpensNoCircle(t *testing.T) {
	word := strings.ReplaceAll(carrying, `"x"`, `"y"`)
	edit := func(goal, steps string) func(t *testing.T, w *world, r plan.Run) {
		return func(t *testing.T, w *world, r plan.Run) {
			next, err := w.service.Revise(t.Context(), w.edit(t, r, goal, steps))
			if err != nil || next.Digest == r.Digest {
				t.Fatal(err)
			}
		}
	}
	model := func(t *testing.T, w *world, steps string) {
		w.model.answers = []any{calls("revise_plan", `{"steps":`+strings.ReplaceAll(steps, "SERVER", w.Server.ID)+`}`)}
		if reply := w.send(t, "cambia la nota"); reply.Run == nil || reply.Run.Plan.Revision < 2 {
			t.Fatalf("%+v", reply.Message)
		}
	}
	for name, change := range map[string]func(t *testing.T, w *world, r plan.Run){
		"only the goal":              edit("Otro fin", carrying),
		"one word of another step":   edit("", word),
		"a title of the read":        edit("", strings.ReplaceAll(carrying, `"a"`, `"c"`)),
		"a step more":                edit("", strings.TrimSuffix(carrying, "]")+`,{"title":"c","mcp_id":"SERVER","method":"DELETE","path":"/bookings/9"}]`),
		"several steps":              edit("Otro", strings.ReplaceAll(word, `"b"`, `"d"`)),
		"the model, after an edit":   func(t *testing.T, w *world, r plan.Run) { edit("Otro", carrying)(t, w, r); model(t, w, word) },
		"an edit, after the model's": func(t *testing.T, w *world, r plan.Run) { model(t, w, word); edit("Otro", word)(t, w, w.Read(r.ID)) },
		"two edits": func(t *testing.T, w *world, r plan.Run) {
			edit("Otro", carrying)(t, w, r)
			edit("Y otro", carrying)(t, w, w.Read(r.ID))
		},
		"another circle meanwhile": func(t *testing.T, w *world, r plan.Run) {
			w.reads(t, w.Server.ID, tool.ReadsPreview, "x")
			edit("Otro", carrying)(t, w, r)
		},
		"the shop was removed": func(t *testing.T, w *world, r plan.Run) {
			if err := w.Store.Registry.DeleteServer(t.Context(), fixture.Account, r.ReadFrom[0]); err != nil {
				t.Fatal(err)
			}
			edit("Otro", carrying)(t, w, r)
		},
		"a retry": func(t *testing.T, w *world, r plan.Run) { edit("Otro", carrying)(t, w, w.failed(t, r)) },
		"a repetition": func(t *testing.T, w *world, r plan.Run) {
			d, err := w.Runs.Repeat(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: w.failed(t, r).Retries, Locale: locale.Spanish})
			if err != nil {
				t.Fatal(err)
			}
			edit("Otro", carrying)(t, w, w.Read(d.Run.ID))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := w.carry(t, w.letPreview(t))
			change(t, w, r)
			sent := 0 // by a step that was confirmed
			if name == "a retry" || name == "a repetition" {
				sent = 1
			}
			if n := w.leaks(); n != sent {
				t.Errorf("%d reads carried it: %+v", n, w.Requests())
			}
		})
	}
	w := newWorld(t)
	shop := w.letPreview(t, "ventas")
	edit("Otro", carrying)(t, w, w.carry(t, shop))
	if n := w.leaks(); n != 2 {
		t.Errorf("in one circle it is read for the card, and again for the changed one: %d", n)
	}
}

// failed confirms a draft whose first step fails, and returns the draft that continues it.
func (w *world) failed(t *testing.T, r plan.Run) plan.Run {
	t.Helper()
	w.Answer(func(tool.Request) (tool.Answer, error) { return tool.Answer{Status: 404}, nil })
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	d, err := w.Runs.Retry(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: r.ID, Locale: locale.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	return w.Read(d.Run.ID)
}

// TestAnEditOfAJobsPlanOpensNoCircle (guarantee I31).
func TestAnEditOfAJobsPlanOpensNoCircle(t *testing.T) {
	w := newJobWorld(t)
	w.Store.Runs.Jobs = w.jobs
	shop := w.letPreview(t)
	w.model.answers = []any{
		calls("look", lookAt(shop.ID, "/orders/1")), calls("propose_plan", `{"goal":"Reservar","steps":`+strings.ReplaceAll(carrying, "SERVER", w.Server.ID)+`}`),
	}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	if j.RunID == "" {
		t.Fatalf("%+v", j)
	}
	r := w.Read(j.RunID)
	if _, err := w.service.Revise(t.Context(), w.edit(t, r, "Otro", carrying)); err != nil {
		t.Fatal(err)
	}
	if n := w.leaks(); n != 0 || !slices.Contains(w.Read(r.ID).ReadFrom, shop.ID) {
		t.Errorf("%d reads carried it: %+v", n, w.Requests())
	}
}

// TestAnUndoHasTheDataOfItsRun (guarantee I31): the values of an undo are answers of its run's services, so that it is of
// their circles.
func TestAnUndoHasTheDataOfItsRun(t *testing.T) {
	w := newWorld(t)
	shop := w.letPreview(t)
	w.model.answers = []any{calls("propose_plan", fmt.Sprintf(`{"goal":"Reservar","steps":[{"title":"a","mcp_id":%q,"method":"GET","path":"/orders/1"},
		{"title":"b","mcp_id":%q,"method":"POST","path":"/bookings","body":{"room":"n1"},"needs":["s1"],"undo":{"mcp_id":%q,"method":"DELETE","path":"/bookings/${s1.body.id}"}}]}`, shop.ID, w.Server.ID, w.Server.ID))}
	reply := w.send(t, "reserva")
	if reply.Kind != turn.KindPlan {
		t.Fatalf("%+v", reply.Message)
	}
	if err := w.Confirm(*reply.Run); err != nil {
		t.Fatal(err)
	}
	w.Execute(reply.Run.ID)
	d, err := w.Runs.Reverse(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: reply.Run.ID, Locale: locale.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	undo := w.Read(d.Run.ID)
	if !strings.Contains(undo.Plan.Steps[0].Path, iban) || !slices.Contains(undo.ReadFrom, shop.ID) {
		t.Fatalf("%s %q", undo.Plan.Steps[0].Path, undo.ReadFrom)
	}
	if _, err := w.service.Revise(t.Context(), w.edit(t, undo, "", carrying)); err != nil {
		t.Fatal(err)
	}
	if n := w.leaks(); n != 0 {
		t.Errorf("%d reads carried it: %+v", n, w.Requests())
	}
}
