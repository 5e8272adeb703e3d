package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/meaning"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Limits of a preview.
const (
	targetsOfStep = 8
	targetValue   = 1 << 10  // bytes
	targetsInAll  = 24 << 10 // bytes of values and labels, so that the plan keeps its limit
)

// Preview makes the reads that the changes of a draft refer to, before the draft is confirmed.
//
// It sends only requests without side effects: a GET or HEAD to a server that a person allowed for
// previews (Server.Reads), bound, matched, checked and built as any step is, that no rule of the
// account denies or asks about. The results are used to name objects. They are not stored and never
// become a step's result. A failed read only leaves out a target.
//
// As a read of a turn, a read is made only when the data that it may carry is of its server's trust zone: the data that the
// plan may have (plan.Run.ReadFrom), by any author, and the results that the read refers to.
type Preview struct{ Reader Reader }

// Known returns the targets and the doubt of each step of a draft, in the order of its steps; nothing of steps that only read.
// Its reads take at most limit. wrong lists the calls that could not be sent with the results, or with those of a turn (reads),
// by the names of the steps that make the same reads; it has none of the values.
func (p Preview) Known(ctx context.Context, r plan.Run, reads map[string]ref.Result, limit time.Duration) (known []plan.Known, wrong []fault.Field) {
	reading, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	seen := &results{ctx: reading, results: p.Reader.Stores.Runs, run: r, read: map[string]*ref.Result{}}
	for _, st := range p.Read(reading, r, limit) {
		seen.read[st.StepID.String()] = &ref.Result{Status: st.Result.Status, Headers: st.Result.Headers, Body: st.Result.Body}
	}
	known = targets(r.Plan, seen)
	t := p.trial(r, seen, reads)
	wrong = p.try(reading, t)
	seen.ctx = ctx // a service that was slow hides no doubt
	if err := p.addDoubts(ctx, t, known); err != nil {
		p.Reader.Log.WarnContext(ctx, "step.doubts_not_read", "run_id", r.ID, "error", err)
	}
	return known, wrong
}

// targets returns the targets of each step of a plan.
func targets(of plan.Plan, seen *results) []plan.Known {
	found := make([]plan.Known, len(of.Steps))
	left := targetsInAll
	for i, s := range of.Steps {
		if s.Risk == plan.Read {
			continue
		}
		for _, name := range referencesOf(s) {
			if seen.read[name.Step] == nil || name.Secret() || len(found[i].Targets) == targetsOfStep ||
				slices.ContainsFunc(found[i].Targets, func(t plan.Target) bool { return t.Ref == name.String() }) {
				continue
			}
			value, label, err := ref.ValueAndLabel(name, seen.lookup)
			about := ref.FactsAround(name, seen.lookup)
			size := len(value) + len(label)
			for _, f := range about {
				size += len(f.Name) + len(f.Value)
			}
			if err == nil && len(value) <= targetValue && size <= left && !ref.HoldsSecret(value) {
				left -= size
				found[i].Targets = append(found[i].Targets, plan.Target{Ref: name.String(), Value: value, Label: label, About: about})
			}
		}
	}
	return found
}

// Read makes the reads that the changes of a draft refer to, once each, in parallel where they do not need each other, within
// limit. It returns the steps that succeeded, with their results, and the steps whose results the draft takes from an earlier
// run.
func (p Preview) Read(ctx context.Context, r plan.Run, limit time.Duration) []plan.StepState {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	known, seen := p.earlier(ctx, r)
	wanted := readsOf(r.Plan.Steps)
	if len(wanted) == 0 {
		return seen
	}
	waves, err := plan.Waves(r.Plan.Steps)
	if err != nil {
		return seen
	}
	zones, err := p.zones(ctx, r)
	if err != nil {
		return seen
	}
	zoneOf := map[string]string{} // of each known result
	for _, st := range seen {
		s, _ := r.Plan.Step(st.StepID)
		if zoneOf[st.StepID.String()], err = p.zone(ctx, r.Account, s.MCPID); err != nil {
			return seen
		}
	}
	rules, err := p.Reader.Stores.Catalogue.Rules.Rules(ctx, r.Account)
	if err != nil {
		return seen
	}
	lookup := func(id string) (ref.Result, bool) { res, ok := known[id]; return res, ok }
	for _, wave := range waves {
		results, from := make([]*plan.Result, len(wave)), make([]string, len(wave))
		var reads sync.WaitGroup // a failed read leaves its result nil
		for i, id := range wave {
			s, _ := r.Plan.Step(id)
			_, done := known[id.Step()]
			if !done && wanted[id.Step()] && isHarmless(s) && !slices.ContainsFunc(s.Needs, func(n string) bool { _, ok := known[n]; return !ok }) {
				carried := slices.Clone(zones)
				for _, name := range referencesOf(s) {
					carried = append(carried, zoneOf[name.Step])
				}
				reads.Go(func() { results[i], from[i] = p.read(ctx, r, s, rules, lookup, carried) })
			}
		}
		reads.Wait()
		for i, res := range results {
			if res != nil {
				known[wave[i].Step()] = ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body}
				zoneOf[wave[i].Step()] = from[i]
				seen = append(seen, plan.StepState{StepID: wave[i], Status: plan.StepDone, Result: res})
			}
		}
	}
	return seen
}

// earlier returns the results that the draft takes from an earlier run, and the states of their steps.
func (p Preview) earlier(ctx context.Context, r plan.Run) (map[string]ref.Result, []plan.StepState) {
	known, seen := map[string]ref.Result{}, []plan.StepState{}
	for _, st := range r.Steps {
		if st.Status != plan.StepDone || st.Result == nil || st.Result.Truncated || !st.StepID.Whole() {
			continue
		}
		res := *st.Result
		if res.Apart > 0 {
			var err error
			if res, err = p.Reader.Stores.Runs.Whole(ctx, r, st.StepID, res); err != nil {
				continue
			}
			st.Result = &res
		}
		known[st.StepID.String()] = ref.Result{Status: res.Status, Headers: res.Headers, Body: res.Body}
		seen = append(seen, st)
	}
	return known, seen
}

// isHarmless reports whether a step may be executed before its plan is confirmed, if its server
// allows previews.
func isHarmless(s plan.Step) bool {
	return s.Risk == plan.Read && s.Tool == "" && plan.RiskOf(s.Method) == plan.Read && s.ForEach == "" && s.When == nil && s.Ask == nil
}

// readsOf returns the ids of the reads that a change refers to, and of the reads that these need.
func readsOf(steps []plan.Step) map[string]bool {
	wanted := map[string]bool{}
	for _, s := range steps {
		if s.Risk == plan.Read {
			continue
		}
		for _, r := range allReferencesOf(s) {
			wanted[r.Step] = true
		}
	}
	for range steps { // a chain is at most this long
		for _, s := range steps {
			for _, n := range s.Needs {
				wanted[n] = wanted[n] || wanted[s.ID.Step()] && s.Risk == plan.Read
			}
		}
	}
	for _, s := range steps {
		if s.Risk != plan.Read || !wanted[s.ID.Step()] {
			delete(wanted, s.ID.Step())
		}
	}
	return wanted
}

// referencesOf returns the references in a step's request, and in its list.
func referencesOf(s plan.Step) []ref.Reference {
	var all []ref.Reference
	add := func(refs []ref.Reference, err error) {
		if err == nil {
			all = append(all, refs...)
		}
	}
	add(ref.InText(s.ForEach))
	add(ref.InText(s.Path))
	add(ref.InJSON(s.Query))
	add(ref.InJSON(s.Headers))
	add(ref.InJSON(s.Body))
	return all
}

// allReferencesOf returns those, and the references of its condition, its undo and its check.
func allReferencesOf(s plan.Step) []ref.Reference {
	all := referencesOf(s)
	if s.When != nil {
		if refs, err := s.When.References(); err == nil {
			all = append(all, refs...)
		}
	}
	if s.Undo != nil {
		all = append(all, referencesOf(plan.Step{Path: s.Undo.Path, Query: s.Undo.Query, Headers: s.Undo.Headers, Body: s.Undo.Body})...)
	}
	if s.Verify != nil {
		all = append(all, referencesOf(plan.Step{Path: s.Verify.Path, Query: s.Verify.Query, Headers: s.Verify.Headers, Body: s.Verify.Body})...)
	}
	return all
}

// zones returns the trust zones whose data the plan of a run may have.
func (p Preview) zones(ctx context.Context, r plan.Run) ([]string, error) {
	list := make([]string, len(r.ReadFrom))
	for i, id := range r.ReadFrom {
		var err error
		if list[i], err = p.zone(ctx, r.Account, id); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// zone returns the trust zone of a server. A removed server, or an id of another kind, is a zone of its own.
func (p Preview) zone(ctx context.Context, account ids.Account, id string) (string, error) {
	server, err := p.Reader.Stores.Catalogue.Servers.Server(ctx, account, id)
	if errors.Is(err, tool.ErrServerNotFound) {
		return tool.Server{ID: id}.Zone(), nil
	}
	return server.Zone(), err
}

// read makes one read, and returns its result and the zone of its server; nil when it is not allowed, or has no usable
// result. carried are the zones whose data may be in it.
func (p Preview) read(ctx context.Context, r plan.Run, s plan.Step, rules rule.Set, lookup ref.Lookup, carried []string) (res *plan.Result, zone string) {
	var seen plan.ReadAnswer
	b, err := p.Reader.target(ctx, r.Bound(s))
	if err == nil {
		b.rules = rules
		seen, err = p.Reader.makeRead(ctx, r.Bound(s), b, lookup, func(server tool.Server, op tool.Operation) bool {
			zone = server.Zone()
			foreign := func(c string) bool { return c != zone }
			return server.Previews() && server.Kind == tool.KindOpenAPI && op.Method == s.Method && !slices.ContainsFunc(carried, foreign)
		})
	}
	if errors.Is(err, errNotRead) {
		return nil, ""
	}
	if err != nil || meaning.Of(seen.Result.Status, false) != meaning.Done || seen.Result.Truncated {
		p.Reader.Log.InfoContext(ctx, "step.not_previewed", "mcp_id", s.MCPID, "step", s.ID, "status", seen.Status(), "error", err)
		return nil, ""
	}
	p.Reader.Log.InfoContext(ctx, "step.previewed", "mcp_id", s.MCPID, "step", s.ID, "bytes", seen.Result.Bytes)
	return seen.Result, zone
}

// Resolved implements run.Drafts. A value with the form of a reference is none.
func (p Preview) Resolved(ctx context.Context, r plan.Run, id plan.EffectID) (plan.Call, error) {
	s, ok := r.Plan.Step(id)
	binding, bound := r.Plan.Binding(id)
	if !ok || !bound {
		return plan.Call{}, fmt.Errorf("run %s has no call %s", r.ID, id)
	}
	from := &results{ctx: ctx, results: p.Reader.Stores.Runs, run: r, effect: id, read: map[string]*ref.Result{}}
	args, err := resolve(s, binding.Template, from.lookup)
	if from.err != nil {
		return plan.Call{}, from.err
	}
	if err != nil {
		return plan.Call{}, run.ErrUnresolvable.With("step", s.Title).WithFault("why", whyNot(err))
	}
	call := plan.Call{MCPID: s.MCPID, Tool: s.Tool, Method: s.Method, Path: args.Path}
	if call.Query, err = ref.Literal(args.Query); err != nil {
		return call, err
	}
	if call.Headers, err = ref.Literal(args.Headers); err != nil {
		return call, err
	}
	call.Body, err = ref.Literal(args.Body)
	return call, err
}
