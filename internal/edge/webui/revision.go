package webui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

// revision is a plan at one point of its history.
type revision struct {
	Number  int
	Digest  string
	Short   string
	By      render.HTML
	Model   render.HTML
	At      time.Time
	Goal    render.HTML
	Now     bool // the current one
	Changes []change
}

// change is one difference between two revisions, in words.
type change struct {
	Step          int // its number; 0 for the plan itself
	Title         render.HTML
	Field         render.HTML
	Before, After render.HTML // "" for none
	Kind          string
}

// setRevisions sets the changes from the previous revision, and all revisions, of the card.
func (c *card) setRevisions(run plan.Run, list []plan.Revision, tag locale.Tag) {
	a := newBuilder(run, c, words{tag: tag}, time.Time{})
	c.Revisions = a.revisions(list)
	if n := len(c.Revisions); n > 1 && c.Draft {
		c.Changes = c.Revisions[n-1].Changes
	} else if n == 1 {
		c.Revisions = nil
	}
}

// revisions returns the plans of a run, the oldest first and the current one last.
func (a cardBuilder) revisions(list []plan.Revision) (all []revision) {
	if n := len(list); n > 0 && list[n-1].Digest != a.run.Digest {
		list = append(slices.Clone(list), plan.Revision{Plan: a.run.Plan, Digest: a.run.Digest})
	}
	for i, r := range list {
		v := revision{
			Number: r.Plan.Revision, Digest: string(r.Digest), Short: shortDigest(string(r.Digest)), By: a.pen.show(r.By), Model: a.pen.show(r.Model), At: r.At,
			Goal: a.pen.show(r.Plan.Goal), Now: r.Digest == a.run.Digest,
		}
		if i > 0 {
			v.Changes = a.changes(list[i-1].Plan, r.Plan)
		}
		all = append(all, v)
	}
	return all
}

// changes lists the differences between two plans, without those that every revision has, and without a changed
// binding that follows from a changed call.
func (a cardBuilder) changes(before, after plan.Plan) (list []change) {
	edited := plan.Edits(before, after)
	for _, d := range plan.Diff(before, after) {
		if slices.Contains([]string{"expires_at", "revision", "replaces", "plan_id"}, d.Field) || d.Field == "binding" && isConsequence(d, edited) {
			continue
		}
		v := change{Field: a.field(d.Field), Kind: string(d.Kind)}
		for _, p := range []plan.Plan{before, after} {
			for i, s := range p.Steps {
				if s.ID == d.StepID {
					v.Step, v.Title = i+1, a.pen.show(stepTitle(p, s, a.pen.words.tag))
				}
			}
		}
		v.Before, v.After = a.part(d.Field, d.Before), a.part(d.Field, d.After)
		if v.Before == v.After && v.Before != "" { // equal in words: the JSON differs
			v.Before, v.After = a.pen.inline(d.Before), a.pen.inline(d.After)
		}
		list = append(list, v)
	}
	return list
}

// isConsequence reports whether a changed binding follows from another change of the call. A changed address
// follows only from another service.
func isConsequence(bound plan.Change, edited []plan.Change) bool {
	id, part := bound.StepID.Base(), ""
	switch {
	case bound.StepID.Undo():
		part = "undo/"
	case bound.StepID.Check():
		part = "verify/"
	}
	moved := bytes.Contains(bound.After, []byte(`"base_url"`))
	return slices.ContainsFunc(edited, func(e plan.Change) bool {
		name, own := strings.CutPrefix(e.Field, part)
		return e.StepID == id && (e.Field == "step" || e.Field+"/" == part || own && (name == "server" ||
			!moved && (name == "tool" || name == "method" || name == "path")))
	})
}

// part shows a part of a plan on one line; "" for none.
func (a cardBuilder) part(field string, raw json.RawMessage) render.HTML {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var when ref.Condition
	var ask plan.Ask
	var targets []plan.Target
	switch {
	case field == "when" && json.Unmarshal(raw, &when) == nil:
		return a.pen.condition(when)
	case field == "ask" && json.Unmarshal(raw, &ask) == nil:
		return a.pen.show(ask.Reason)
	case field == "targets" && json.Unmarshal(raw, &targets) == nil:
		labels := make([]string, len(targets))
		for i, t := range targets {
			labels[i] = t.Label
		}
		return a.pen.show(strings.Join(labels, " · "))
	}
	return a.pen.inline(raw)
}

// field returns the name of a part of a step, with the path within it.
func (a cardBuilder) field(name string) render.HTML {
	first, rest, deeper := strings.Cut(name, "/")
	key := "page.field." + first
	word := a.pen.show(first)
	if known, ok := locale.Lookup(a.pen.words.tag, key); ok {
		word = render.HTML(known) //nolint:gosec // a text of the catalogue
	}
	if !deeper {
		return word
	}
	return word + " <code>" + a.pen.show(pointer.Replace(rest)) + "</code>"
}

var pointer = strings.NewReplacer("~1", "/", "~0", "~")

func shortDigest(d string) string {
	if len(d) < 12 {
		return d
	}
	return d[:6] + "…" + d[len(d)-4:]
}
