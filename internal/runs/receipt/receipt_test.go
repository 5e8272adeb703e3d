package receipt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/internal/runs/plan"
)

func TestVerifyAcceptsReceiptsOfAllKindsOfRuns(t *testing.T) {
	for name, r := range exampleReceipts(t) {
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var read Receipt
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		for _, r := range []Receipt{r, read} {
			if problems := Verify(r); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
		}
	}
}

// leaf is the path to one value of a JSON tree.
type leaf []any

func (l leaf) String() string { return strings.Trim(fmt.Sprint([]any(l)), "[]") }

func leaves(v any, way leaf) []leaf {
	all := []leaf{}
	if len(way) > 0 {
		all = append(all, way)
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			all = append(all, leaves(e, append(way[:len(way):len(way)], k))...)
		}
	case []any:
		for i, e := range v {
			all = append(all, leaves(e, append(way[:len(way):len(way)], i))...)
		}
	}
	return all
}

// edit replaces the value at a path by f of it; nil removes it.
func edit(v any, way leaf, f func(any) any) any {
	if len(way) == 0 {
		return f(v)
	}
	switch v := v.(type) {
	case map[string]any:
		k := way[0].(string)
		if v[k] = edit(v[k], way[1:], f); v[k] == nil {
			delete(v, k)
		}
	case []any:
		i := way[0].(int)
		if v[i] = edit(v[i], way[1:], f); v[i] == nil {
			return append(v[:i:i], v[i+1:]...)
		}
		return v
	}
	return v
}

func otherValue(v any) any {
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.Add(time.Second).Format(time.RFC3339Nano)
		}
		return v + "x"
	case json.Number:
		return json.Number("1" + v.String())
	case bool:
		return !v
	}
	return "x"
}

func tree(t *testing.T, raw []byte) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sampled is the number of changes of which isSampled has one tested.
const sampled = 24

// isSampled reports whether only some changes are tested: under -short, and with the race detector, because it is slow and
// nothing runs concurrently here.
func isSampled() bool { return raced || testing.Short() }

func TestVerifyDetectsEveryChange(t *testing.T) {
	changes := 0
	s := signer(t)
	keys := []Key{s.key}
	for name, r := range exampleReceipts(t) {
		if r.Status.Terminal() {
			r = seal(t, s, r)
		}
		if name == "going" || name == "draft" || name == "approved" { // later receipts contain these
			continue
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		for i, way := range leaves(tree(t, raw), nil) {
			for how, f := range map[string]func(any) any{"changed": otherValue, "removed": func(any) any { return nil }} {
				if isSampled() && i%sampled > 0 {
					continue
				}
				forged, err := json.Marshal(edit(tree(t, raw), way, f))
				if err != nil {
					t.Fatal(err)
				}
				var read Receipt
				if json.Unmarshal(forged, &read) != nil { // not a receipt any more
					continue
				}
				if again, _ := json.Marshal(read); string(again) == string(raw) { // an empty member became absent
					continue
				}
				changes++
				if len(Verify(read)) == 0 && (r.Signature == nil && way.String() != "account" || r.Signature != nil && read.SignedBy(keys) == nil) {
					t.Errorf("%s: %s was %s, and it holds", name, way, how)
				}
			}
		}
	}
	if changes < 2000 && !isSampled() {
		t.Errorf("%d changes only", changes)
	}
}

func TestVerifyDetectsDroppedSwappedOrDuplicateEvents(t *testing.T) {
	all := exampleReceipts(t)
	names := []string{}
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		r := all[rapid.SampledFrom(names).Draw(t, "story")]
		r.Events = slices.Clone(r.Events)
		i := rapid.IntRange(0, len(r.Events)-1).Draw(t, "i")
		switch rapid.SampledFrom([]string{"drop", "swap", "double", "renumber"}).Draw(t, "how") {
		case "drop":
			r.Events = slices.Delete(r.Events, i, i+1)
		case "double":
			r.Events = slices.Insert(r.Events, i, r.Events[i])
		case "swap":
			j := rapid.IntRange(0, len(r.Events)-1).Draw(t, "j")
			if i == j {
				return
			}
			r.Events[i], r.Events[j] = r.Events[j], r.Events[i]
		case "renumber":
			r.Events = slices.Delete(r.Events, i, i+1)
			for k := range r.Events {
				r.Events[k].Seq = k + 1
			}
			if len(r.Events) > 0 {
				r.Head = r.Events[len(r.Events)-1].Hash
			}
			if i == len(r.Events) { // cut back to an earlier head: only the status detects it
				return
			}
		}
		if len(Verify(r)) == 0 {
			t.Fatal("it holds")
		}
	})
}

// rewrite returns a receipt in which a forger changed the events and recomputed every hash: its
// content must reveal it.
func rewrite(t *testing.T, r Receipt, f func([]plan.Event) []plan.Event) Receipt {
	t.Helper()
	r.Events = f(slices.Clone(r.Events))
	prev := ""
	for i := range r.Events {
		r.Events[i].Seq = i + 1
		e, err := r.Events[i].Chained(prev)
		if err != nil {
			t.Fatal(err)
		}
		r.Events[i], prev = e, e.Hash
	}
	r.Head = prev
	account := newAccount(r.Revisions[len(r.Revisions)-1].Plan, r.Events)
	r.Confirmed, r.Status, r.Steps = account.confirmed, account.status, nil
	for _, e := range account.effects {
		s := e.Step
		s.Status = e.expectedStatus(account)
		r.Steps = append(r.Steps, s)
	}
	return r
}

func find(t *testing.T, events []plan.Event, stepID, kind string) int {
	t.Helper()
	i := slices.IndexFunc(events, func(e plan.Event) bool { return e.Type == kind && e.StepID.String() == stepID })
	if i < 0 {
		t.Fatalf("no %s of %s", kind, stepID)
	}
	return i
}

func TestVerifyComparesRewrittenChainWithPlan(t *testing.T) {
	with := func(e plan.Event, name string, value any) plan.Event {
		var d map[string]any
		_ = json.Unmarshal(e.Data, &d)
		d[name] = value
		e.Data, _ = json.Marshal(d)
		return e
	}
	set := func(stepID, kind, name string, value any) func([]plan.Event) []plan.Event {
		return func(events []plan.Event) []plan.Event {
			i := find(t, events, stepID, kind)
			events[i] = with(events[i], name, value)
			return events
		}
	}
	drop := func(stepID, kind string) func([]plan.Event) []plan.Event {
		return func(events []plan.Event) []plan.Event {
			i := find(t, events, stepID, kind)
			return slices.Delete(events, i, i+1)
		}
	}
	for name, c := range map[string]struct {
		story  string
		forge  func([]plan.Event) []plan.Event
		reason string
	}{
		"nothing":                    {"done", func(e []plan.Event) []plan.Event { return e }, ""},
		"nothing of an undone one":   {"undone", func(e []plan.Event) []plan.Event { return e }, ""},
		"another plan was confirmed": {"done", set("", plan.EventConfirmed, "digest", strings.Repeat("a", 64)), "another plan was confirmed"},
		"nobody confirmed":           {"done", drop("", plan.EventConfirmed), "nobody had confirmed"},
		"another method":             {"done", set("s1", plan.EventStepStart, "method", "POST"), "s1 is a GET"},
		"another host":               {"done", set("s2[0]", plan.EventStepStart, "url", "http://evil.example/api/rooms/1/bookings"), "cannot lead to"},
		"another path":               {"done", set("s2[0]", plan.EventStepStart, "url", room+"1/users"), "cannot lead to"},
		"a longer path":              {"done", set("s2[0]", plan.EventStepStart, "url", room+"1/2/bookings"), "cannot lead to"},
		"a query more":               {"done", set("s1", plan.EventStepStart, "url", rooms+"&all=1"), "cannot lead to"},
		"another query":              {"done", set("s1", plan.EventStepStart, "url", base+"/rooms?seats=7&who=ana%20%26%20luis"), "cannot lead to"},
		"another body":               {"done", set("s2[0]", plan.EventStepStart, "request", strings.Repeat("a", 64)), "another body"},
		"another tool":               {"done", set("s4", plan.EventStepStart, "tool", "wipe"), "was called"},
		"a tool elsewhere":           {"done", set("s4", plan.EventStepStart, "url", "http://evil.example/mcp"), "was called"},
		"nobody was asked": {"done", func(e []plan.Event) []plan.Event {
			return drop("s3", plan.EventStepApproved)(drop("s3", plan.EventStepAsked)(e))
		}, "nobody had been asked"},
		"nobody approved":              {"done", drop("s3", plan.EventStepApproved), "nobody had approved"},
		"another request was approved": {"done", set("s3", plan.EventStepAsked, "request", strings.Repeat("b", 64)), "another request"},
		"the confirmer approved":       {"done", set("s3", plan.EventStepApproved, "by", "ana"), "needed another"},
		"the confirmer, as «Ana.»":     {"done", set("s3", plan.EventStepApproved, "by", "Ana."), "needed another"},
		"approved too late":            {"done", set("s3", plan.EventStepAsked, "expires_at", "2026-03-01T10:00:01Z"), "after its time"},
		"sent after it was refused": {"done", func(e []plan.Event) []plan.Event {
			e[find(t, e, "s3", plan.EventStepApproved)].Type = plan.EventStepRefused
			return e
		}, "nobody had approved"},
		"done and never sent": {"done", drop("s4", plan.EventStepStart), "was not sent"},
		"a step of no plan": {"done", func(e []plan.Event) []plan.Event {
			e[find(t, e, "s4", plan.EventStepStart)].StepID = plan.EffectOf("s9")
			return e
		}, "does not have"},
		"sent twice": {"done", func(e []plan.Event) []plan.Event {
			i := find(t, e, "s2[0]", plan.EventStepStart)
			return slices.Insert(e, i+1, e[i])
		}, "sent again while nobody knew"},
		"done twice": {"done", func(e []plan.Event) []plan.Event {
			i := find(t, e, "s4", plan.EventStepDone)
			return slices.Insert(e, i+1, e[i])
		}, "had ended"},
		"sent after the end": {"done", func(e []plan.Event) []plan.Event {
			i := find(t, e, "s4", plan.EventStepStart)
			return append(slices.Delete(slices.Clone(e), i, i+1), e[i])
		}, "comes too late"},
		"revised after it was confirmed": {"done", func(e []plan.Event) []plan.Event {
			i := find(t, e, "", plan.EventRevised)
			return slices.Insert(slices.Delete(slices.Clone(e), i, i+1), i+1, e[i])
		}, "comes too late"},
		"undone before it was to be":                 {"undone", drop("", plan.EventUndoing), "before undoing began"},
		"a failure that is none":                     {"undone", set("", plan.EventFinished, "status", "done"), "run is said to be done"},
		"no doubt any more":                          {"in doubt", set("", plan.EventFinished, "status", "cancelled"), "a step is in doubt"},
		"an element that was not among the approved": {"checked", set("s2", plan.EventStepAsked, "requests", []string{"x", "y"}), "another request than was approved"},
		"one element more than was approved":         {"checked", set("s2", plan.EventStepAsked, "requests", []string{}), "another request than was approved"},
		"all elements elsewhere":                     {"checked", set("s2", plan.EventStepAsked, "url", "http://evil.example"), "cannot lead to"},
		"a reused step was sent": {"refused", func(e []plan.Event) []plan.Event {
			i := find(t, e, "s2", plan.EventStepSkipped)
			e = slices.Insert(e, i, e[i])
			e[i].StepID, e[i].Type, e[i].Data = plan.EffectOf("s1"), plan.EventStepStart, json.RawMessage(`{"attempt":1,"method":"GET","url":"`+rooms+`"}`)
			return e
		}, "result of an earlier run"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := Verify(rewrite(t, exampleReceipts(t)[c.story], c.forge))
			found := slices.ContainsFunc(problems, func(p Problem) bool { return strings.Contains(p.What, c.reason) })
			if c.reason == "" && len(problems) > 0 || c.reason != "" && !found {
				t.Errorf("%v, want %q", problems, c.reason)
			}
		})
	}
}

func TestVerifyComparesStatusWithEvents(t *testing.T) {
	s := begin(t, examplePlan())
	s.confirm()
	s.send("s1", 1, rooms, "")
	s.endStep("s1", plan.EventStepFailed, plan.StepFailed, "step.rejected")
	s.finish(plan.Failed)
	for name, change := range map[string]func(*plan.Run){
		"a step that is done after all": func(r *plan.Run) { r.Steps[0].Status = plan.StepDone },
		"a run that is done":            func(r *plan.Run) { r.Status = plan.Done },
		"another digest":                func(r *plan.Run) { r.Digest = plan.Digest(strings.Repeat("a", 64)) },
		"another head":                  func(r *plan.Run) { r.Chain = strings.Repeat("a", 64) },
	} {
		r := s.run
		r.Steps = slices.Clone(r.Steps)
		change(&r)
		if len(Verify(New(r, s.revisions, s.events))) == 0 {
			t.Errorf("%s holds", name)
		}
	}
	if problems := Verify(Receipt{}); len(problems) == 0 {
		t.Error("nothing at all holds")
	}
}

func FuzzVerifyReadsAnything(f *testing.F) {
	f.Add(`{"version":"piloto.receipt/1","revisions":[{"plan":{"steps":[{"id":"s1"}]}}],"events":[{"seq":1,"type":"step.approved","step_id":"s1","data":{}}],"steps":[{}]}`)
	f.Add(`{"events":[{"type":"step.started","step_id":"undo:s1[3]","data":[]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var r Receipt
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		for _, p := range Verify(r) {
			if strings.ContainsAny(p.String(), "\n\r\x1b\u202e") {
				t.Fatalf("%q is more than a line", p)
			}
		}
	})
}
