package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// tampered is a store in which a stored plan was changed, but not its digest.
type tampered struct {
	run.Runs
	change func(plan.Plan) plan.Plan
}

func (s tampered) Run(ctx context.Context, account ids.Account, id string) (plan.Run, error) {
	r, err := s.Runs.Run(ctx, account, id)
	r.Plan = s.change(r.Plan)
	return r, err
}

// everything proposes a draft that uses every field of a step.
func (w manualWorld) everything() plan.Run {
	book := undoable("Una")
	book.When = &ref.Condition{Value: "${s1.body.free}", Is: ref.Equal, To: json.RawMessage("6")}
	book.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/bookings/7"}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}}
	each := undoable("Todas")
	each.ForEach, each.Body = "${s1.body.items}", json.RawMessage(`{"room":"${item.name}","n":9007199254740993}`)
	return w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{readingStep("Mirar"), book, each}})
}

// TestConfirmRefusesEveryChangedFieldOfStoredPlan (guarantee I03) changes every leaf of a stored
// plan, one at a time: the confirm of the shown digest is refused and names the change, and no step
// begins.
func TestConfirmRefusesEveryChangedFieldOfStoredPlan(t *testing.T) {
	w := newManualWorld(t)
	r := w.everything()
	real, seen := w.Runs.Runs, 0
	for n := 0; ; n++ {
		way := ""
		w.Runs.Runs = tampered{real, func(p plan.Plan) plan.Plan {
			changed, at := changeLeaf(t, p, n)
			way = at
			return changed
		}}
		err := w.Confirm(r)
		if way == "" {
			break
		}
		seen++
		var f *fault.Error
		if !errors.Is(err, plan.ErrStale) || !errors.As(err, &f) || f.Inner["changed"] == nil {
			t.Errorf("%s: %v", way, err)
		}
		if now, _ := real.Run(context.Background(), fixture.Account, r.ID); now.Status != plan.Draft || len(w.Started()) != 0 {
			t.Fatalf("%s: the run is %s", way, now.Status)
		}
	}
	if seen < 80 {
		t.Errorf("the plan says %d things only", seen)
	}
}

// changeLeaf changes the leaf number n of a plan's JSON, and returns its path: "" when there is
// none.
func changeLeaf(t *testing.T, p plan.Plan, n int) (plan.Plan, string) {
	raw, err := json.Marshal(p)
	must(t, err)
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var tree any
	must(t, dec.Decode(&tree))
	way := ""
	var walk func(v any, at string) any
	walk = func(v any, at string) any {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				v[k] = walk(v[k], at+"/"+k)
			}
			return v
		case []any:
			for i := range v {
				v[i] = walk(v[i], fmt.Sprint(at, "/", i))
			}
			return v
		}
		if n--; n != -1 {
			return v
		}
		way = at
		switch v := v.(type) {
		case string:
			if moment, err := time.Parse(time.RFC3339, v); err == nil {
				return moment.Add(time.Second).Format(time.RFC3339)
			}
			return v + "x"
		case json.Number:
			return json.Number(v.String() + "7")
		case bool:
			return !v
		}
		return "x"
	}
	raw, err = json.Marshal(walk(tree, ""))
	must(t, err)
	var changed plan.Plan
	must(t, json.Unmarshal(raw, &changed))
	return changed, way
}

// elsewhere reads servers of which one's row was changed.
type elsewhere struct {
	tool.ServerReader
	id     string
	change func(*tool.Server)
}

func (c elsewhere) Server(ctx context.Context, account ids.Account, id string) (tool.Server, error) {
	s, err := c.ServerReader.Server(ctx, account, id)
	if id == c.id {
		c.change(&s)
	}
	return s, err
}

// TestConfirmRefusesChangedService (guarantee I03) changes a service that only a step, only its
// undo or only its check calls: the confirm is refused and names the change.
func TestConfirmRefusesChangedService(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		change func(*tool.Server)
		says   string
	}{
		"base URL":        {func(s *tool.Server) { s.BaseURL = "https://rooms.example.net" }, "CALL"},
		"a path of it":    {func(s *tool.Server) { s.BaseURL += "/v2" }, "CALL"},
		"plain HTTP":      {func(s *tool.Server) { s.BaseURL = "http://rooms.example" }, "CALL"},
		"inactive":        {func(s *tool.Server) { s.Active = false }, "desactivado"},
		"an agent":        {func(s *tool.Server) { s.Kind, s.Role = tool.KindMCP, tool.RoleAgent }, "CALL"},
		"a key":           {func(s *tool.Server) { s.Keys = []tool.KeyPlace{{In: "bearer"}} }, "Otra"},
		"a key elsewhere": {func(s *tool.Server) { s.Keys = []tool.KeyPlace{{In: "query", Name: "key"}} }, "Otra"},
	} {
		for part, call := range map[string]string{"step": "POST /bookings", "undo": "DELETE /bookings/{id}", "check": "GET /bookings/{id}"} {
			t.Run(name+" of the "+part, func(t *testing.T) {
				t.Parallel()
				w := newManualWorld(t)
				other := w.Server
				other.ID, other.Name = w.IDs.New(fixture.Epoch), "Otra"
				operations := tool.Catalogue{Revision: w.IDs.New(fixture.Epoch), Operations: fixture.Operations(other.BaseURL)}
				other.Catalogue = operations.Revision
				must(t, w.Store.Registry.CreateServer(ctx, fixture.Account, other, operations, nil))
				s := undoable("Una")
				s.Verify = &plan.Check{Call: plan.Call{Method: "GET", Path: "/bookings/7"}, Expect: ref.Condition{Value: "${check.status}", Is: ref.Equal, To: json.RawMessage("200")}}
				switch s.MCPID = w.Server.ID; part {
				case "step":
					s.MCPID, s.Undo.MCPID, s.Verify.MCPID = other.ID, w.Server.ID, w.Server.ID
				case "undo":
					s.Undo.MCPID = other.ID
				default:
					s.Verify.MCPID = other.ID
				}
				r := w.Draft(plan.Proposal{Goal: "Reservar", Steps: []plan.ProposedStep{s}})
				real := w.Runs.Catalogue.Servers
				w.Runs.Catalogue.Servers = elsewhere{real, other.ID, c.change}
				err := w.Confirm(r)
				if says := strings.ReplaceAll(c.says, "CALL", call); !errors.Is(err, plan.ErrStale) || !strings.Contains(changeIn(err), says) {
					t.Errorf("%v does not say %q", err, says)
				}
				if w.Read(r.ID).Status != plan.Draft || len(w.Started()) != 0 {
					t.Error("something began")
				}
				w.Runs.Catalogue.Servers = real
				must(t, w.Confirm(r)) // only that change was the cause
			})
		}
	}
}

// shown is a plan on a screen: its button sends the run's id and the digest.
type shown struct {
	run    string
	digest plan.Digest
	key    string
}

// TestConfirmRunsOnlyTheShownPlan (guarantee I06) shows, replaces, edits, cancels and expires plans
// in any order. Old screens are pressed, with their own digest or with that of another plan, and
// requests are repeated. Only the draft whose id and digest were sent begins, unchanged and once.
func TestConfirmRunsOnlyTheShownPlan(t *testing.T) {
	w := newManualWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		w.Chat = w.NewChat()
		var screens []shown
		began := map[string]string{} // the key that began the run, by run id
		show := func(r plan.Run) {
			screens = append(screens, shown{r.ID, r.Digest, fmt.Sprint("press ", len(screens))})
		}
		press := func(rt *rapid.T) {
			if len(screens) == 0 {
				return
			}
			at := rapid.IntRange(max(0, len(screens)-4), len(screens)-1)
			s := screens[at.Draw(rt, "screen")]
			if rapid.IntRange(0, 3).Draw(rt, "mixed") == 0 {
				s.digest = screens[at.Draw(rt, "digest of")].digest
			}
			before, chat := w.Read(s.run), w.ChatNow()
			_, err := w.Runs.Confirm(context.Background(), run.Confirmation{
				Account: fixture.Account, User: "ana", RunID: s.run, Digest: s.digest, Key: s.key, Locale: locale.Spanish,
			})
			now := w.Read(s.run)
			switch may := before.Status == plan.Draft && before.Digest == s.digest && chat.ActiveRunID == "" && w.Clock().Before(before.Plan.ExpiresAt); {
			case may && (err != nil || now.Status != plan.Queued):
				rt.Fatalf("the plan that is shown: %v, %s", err, now.Status)
			case may:
				began[s.run] = s.key
			case err == nil && (began[s.run] != s.key || s.digest != before.Digest):
				rt.Fatalf("a press on an old screen of a %s run was taken", before.Status)
			case err == nil:
			case fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.Gone:
				rt.Fatalf("%v is neither 409 nor 410", err)
			}
			if now.EventSeq != before.EventSeq && began[s.run] != s.key {
				rt.Fatal("a refused press left a trace")
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"propose": func(*rapid.T) { show(w.Propose(book)) },
			"edit": func(rt *rapid.T) {
				id := w.ChatNow().PendingRunID
				if id == "" {
					return
				}
				r := w.Read(id)
				p := r.Plan
				p.Goal, p.Revision, p.Replaces = p.Goal+".", p.Revision+1, r.Digest
				digest, err := p.Digest()
				must2(rt, err)
				_, err = w.Store.Runs.Revise(context.Background(), r, w.ChatNow(), plan.Revision{Plan: p, Digest: digest, At: w.Clock()},
					run.Record{At: w.Clock(), Type: plan.EventRevised})
				must2(rt, err)
				show(w.Read(id))
			},
			"cancel": func(*rapid.T) {
				if id := w.ChatNow().PendingRunID; id != "" && w.Clock().Before(w.Read(id).Plan.ExpiresAt) {
					cancel(t, w.World, w.Read(id))
				}
			},
			"end": func(*rapid.T) {
				if id := w.ChatNow().ActiveRunID; id != "" {
					w.Execute(id)
				}
			},
			"time goes": func(rt *rapid.T) {
				w.Pass(rapid.SampledFrom([]time.Duration{time.Minute, 25 * time.Hour}).Draw(rt, "passes"))
			},
			"press":       press,
			"press again": press,
			"": func(rt *rapid.T) {
				for _, s := range screens {
					if n := began[s.run]; (n == "") != (w.Read(s.run).ConfirmBy == "") {
						rt.Fatalf("run %s began by %q", s.run, n)
					}
				}
			},
		})
	})
}

// The store refuses expired drafts and approvals by its own condition, in addition to the
// comparison of the caller (guarantee I27).
func TestStoreRefusesExpiredByItself(t *testing.T) {
	w := newManualWorld(t)
	r := w.Propose(book)
	for _, c := range []struct {
		at time.Time
		is error
	}{
		{r.Plan.ExpiresAt.Add(10 * time.Minute), fault.ErrMoved},
		{r.Plan.ExpiresAt, fault.ErrMoved},
		{r.Plan.ExpiresAt.Add(-time.Millisecond), nil},
	} {
		_, err := w.Store.Runs.Confirm(context.Background(), r, w.ChatNow(), "ana/k", "ana", c.at, run.Record{At: c.at, Type: plan.EventConfirmed})
		if !errors.Is(err, c.is) {
			t.Errorf("at %s: %v", c.at, err)
		}
	}
}
