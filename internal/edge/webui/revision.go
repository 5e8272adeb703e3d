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

// revision is a plan as it stood for a time.
type revision struct {
	Number  int
	Digest  string
	Short   string
	By      render.HTML
	Model   render.HTML
	At      time.Time
	Goal    render.HTML
	Now     bool // it is the one that stands
	Changes []change
}

// change is one difference between two revisions, as a person reads it.
type change struct {
	Step          int // its number; 0 of the plan itself
	Title         render.HTML
	Field         render.HTML
	Before, After render.HTML // "" when there was, or is, none
	Kind          string
}

// revised shows what changed from the revision before, and every revision there was.
func (c *card) revised(run plan.Run, list []plan.Revision, tag locale.Tag) {
	a := arranger{run: run, card: c, words: words{tag: tag}}
	c.Revisions = a.revisions(list)
	if n := len(c.Revisions); n > 1 && c.Draft {
		c.Changes = c.Revisions[n-1].Changes
	} else if n == 1 {
		c.Revisions = nil
	}
}

// revisions arranges the plans a run had, the oldest first and the one that stands last.
func (a arranger) revisions(list []plan.Revision) (all []revision) {
	if n := len(list); n > 0 && list[n-1].Digest != a.run.Digest {
		list = append(slices.Clone(list), plan.Revision{Plan: a.run.Plan, Digest: a.run.Digest})
	}
	for i, r := range list {
		v := revision{
			Number: r.Plan.Revision, Digest: string(r.Digest), Short: shortDigest(string(r.Digest)), By: a.show(r.By), Model: a.show(r.Model), At: r.At,
			Goal: a.show(r.Plan.Goal), Now: r.Digest == a.run.Digest,
		}
		if i > 0 {
			v.Changes = a.changes(list[i-1].Plan, r.Plan)
		}
		all = append(all, v)
	}
	return all
}

// changes leaves out what every revision changes, and which operation a call is
// where the call itself is another.
func (a arranger) changes(before, after plan.Plan) (list []change) {
	edited := plan.Edits(before, after)
	for _, d := range plan.Diff(before, after) {
		if slices.Contains([]string{"expires_at", "revision", "replaces", "plan_id"}, d.Field) || d.Field == "binding" && follows(d, edited) {
			continue
		}
		v := change{Field: a.field(d.Field), Kind: string(d.Kind)}
		for _, p := range []plan.Plan{before, after} {
			for i, s := range p.Steps {
				if s.ID == d.StepID {
					v.Step, v.Title = i+1, a.show(s.Title)
				}
			}
		}
		v.Before, v.After = a.part(d.Field, d.Before), a.part(d.Field, d.After)
		if v.Before == v.After && v.Before != "" { // in words they are the same: they differ in what words leave out
			v.Before, v.After = a.inline(d.Before), a.inline(d.After)
		}
		list = append(list, v)
	}
	return list
}

// follows reports whether a call is bound to something else because it is another call.
// Where a service is found by now follows only from its being another service.
func follows(bound plan.Change, edited []plan.Change) bool {
	id, part := bound.StepID, ""
	if rest, undo := strings.CutPrefix(id, "undo:"); undo {
		id, part = rest, "undo/"
	} else if rest, check := strings.CutPrefix(id, "check:"); check {
		id, part = rest, "verify/"
	}
	moved := bytes.Contains(bound.After, []byte(`"base_url"`))
	return slices.ContainsFunc(edited, func(e plan.Change) bool {
		name, own := strings.CutPrefix(e.Field, part)
		return e.StepID == id && (e.Field == "step" || e.Field+"/" == part || own && (name == "server" ||
			!moved && (name == "tool" || name == "method" || name == "path")))
	})
}

// part shows a part of a plan on one line; "" for nothing.
func (a arranger) part(field string, raw json.RawMessage) render.HTML {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var when ref.Condition
	var ask plan.Ask
	var targets []plan.Target
	switch {
	case field == "when" && json.Unmarshal(raw, &when) == nil:
		return a.condition(when)
	case field == "ask" && json.Unmarshal(raw, &ask) == nil:
		return a.show(ask.Reason)
	case field == "targets" && json.Unmarshal(raw, &targets) == nil:
		labels := make([]string, len(targets))
		for i, t := range targets {
			labels[i] = t.Label
		}
		return a.show(strings.Join(labels, " · "))
	}
	return a.inline(raw)
}

// field names a part of a step: its own name in words, and the way within it.
func (a arranger) field(name string) render.HTML {
	first, rest, deeper := strings.Cut(name, "/")
	key := "page.field." + first
	word := a.show(first)
	if known, ok := locale.Lookup(a.words.tag, key); ok {
		word = render.HTML(known) //nolint:gosec // a sentence of ours
	}
	if !deeper {
		return word
	}
	return word + " <code>" + a.show(pointer.Replace(rest)) + "</code>"
}

var pointer = strings.NewReplacer("~1", "/", "~0", "~")

func shortDigest(d string) string {
	if len(d) < 12 {
		return d
	}
	return d[:6] + "…" + d[len(d)-4:]
}
