package webui

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/visible"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/rule"
)

// hostile returns a text that imitates another or refers to other sites, and ends in end.
func hostile(end string) string {
	return "ok\u202e\u200b\u2066\u00ad\nConfirmado: sí <img src=https://evil.example/p.png> ![x](https://evil.example/i.png) " +
		"[aquí](https://evil.example/?q=1) <a href='https://evil.example'>" + strings.Repeat(" ", 10<<10) + "p\u0430ypal FIN-" + end
}

func jsonOf(text string) json.RawMessage {
	out, _ := json.Marshal(text)
	return out
}

var (
	fetches = regexp.MustCompile(`<(?:img|iframe|script|link|object|embed|audio|video|source)\b|\s(?:src|srcset|href|action|formaction|poster|style)\s*=\s*["'](?:https?:)?//`)
	ours    = regexp.MustCompile(`<(?:script|link)\b[^>]*\s(?:src|href)="/[^"/][^>]*>|<script type="application/json" id="boot">`)
	said    = regexp.MustCompile(`\s(?:title|alt|placeholder|aria-label)="([^"]*)"`) // attributes that are visible or read aloud
)

// checkUnharmed checks a page with a hostile text: its end is there, no character is invisible, and nothing is fetched
// or linked.
func checkUnharmed(t *testing.T, page, end string) {
	t.Helper()
	if !strings.Contains(page, "FIN-"+end) {
		t.Error("the end is not shown")
	}
	if at := fetches.FindString(ours.ReplaceAllString(page, "")); at != "" {
		t.Errorf("it reaches out of the page by %q", at)
	}
	shown := stripTags(page)
	for _, attribute := range said.FindAllStringSubmatch(page, -1) {
		shown += html.UnescapeString(attribute[1])
	}
	for _, r := range shown {
		if r != '\n' && r != ' ' && r != '\ufe0f' && (!unicode.IsGraphic(r) || visible.Invisible(r)) { // the page's own emoji have U+FE0F
			t.Errorf("%U is invisible", r)
			break
		}
	}
	if strings.Contains(shown, "p\u0430ypal") {
		t.Error("a letter of another script is not marked")
	}
}

// TestEveryPartOfACardShowsItsText (guarantees I31 and I32) puts a hostile text into each part of a plan and of its
// results.
func TestEveryPartOfACardShowsItsText(t *testing.T) {
	resolvedBy := func(change func(*plan.Resolution)) func(string) plan.Run {
		return func(string) plan.Run {
			s := &plan.Resolution{Outcome: plan.OutcomeDone, By: "luz", Note: "n", At: noon}
			change(s)
			return doubtfulRun(s)
		}
	}
	shown := func(change func(*plan.Plan)) func(string) plan.Run {
		return func(string) plan.Run {
			p := fullPlan(noon)
			change(&p)
			return draft(p)
		}
	}
	asked := func(change func(*plan.Approval)) func(string) plan.Run {
		return func(string) plan.Run {
			r := waitingRun()
			change(r.Steps[3].Approval)
			return r
		}
	}
	text := hostile
	for name, make := range map[string]func(string) plan.Run{
		"goal":    shown(func(p *plan.Plan) { p.Goal = text("goal") }),
		"title":   shown(func(p *plan.Plan) { p.Steps[1].Title = text("title") }),
		"path":    shown(func(p *plan.Plan) { p.Steps[1].Path = "/" + text("path") }),
		"query":   shown(func(p *plan.Plan) { p.Steps[0].Query = raw(`{"q":` + string(jsonOf(text("query"))) + `}`) }),
		"headers": shown(func(p *plan.Plan) { p.Steps[1].Headers = raw(`{"If-Match":` + string(jsonOf(text("headers"))) + `}`) }),
		"undo-headers": shown(func(p *plan.Plan) {
			p.Steps[1].Undo.Headers = raw(`{"If-Match":` + string(jsonOf(text("undo-headers"))) + `}`)
		}),
		"approval-headers": asked(func(a *plan.Approval) {
			a.Headers = raw(`{"If-Match":` + string(jsonOf(text("approval-headers"))) + `}`)
		}),
		"body":   shown(func(p *plan.Plan) { p.Steps[1].Body = jsonOf(text("body")) }),
		"server": shown(func(p *plan.Plan) { p.Bindings[0].ServerName = text("server") }),
		"tool":   shown(func(p *plan.Plan) { p.Steps[1].Tool, p.Steps[1].Method = text("tool"), "" }),
		"list":   shown(func(p *plan.Plan) { p.Steps[2].ForEach = `${s1.body[` + string(jsonOf(text("list"))) + `]}` }),
		"condition": shown(func(p *plan.Plan) {
			p.Steps[1].When = &ref.Condition{Value: "${s1.status}", Is: ref.Equal, To: jsonOf(text("condition"))}
		}),
		"condition-of":  shown(func(p *plan.Plan) { p.Steps[1].When = &ref.Condition{Value: text("condition-of"), Is: ref.Present} }),
		"undo-path":     shown(func(p *plan.Plan) { p.Steps[1].Undo.Path = "/" + text("undo-path") }),
		"undo-body":     shown(func(p *plan.Plan) { p.Steps[2].Undo.Body = jsonOf(text("undo-body")) }),
		"check-path":    shown(func(p *plan.Plan) { p.Steps[1].Verify.Path = "/" + text("check-path") }),
		"check-query":   shown(func(p *plan.Plan) { p.Steps[1].Verify.Query = jsonOf(text("check-query")) }),
		"check-expects": shown(func(p *plan.Plan) { p.Steps[1].Verify.Expect.To = jsonOf(text("check-expects")) }),
		"target":        shown(func(p *plan.Plan) { p.Steps[1].Targets[0].Label = text("target") }),
		"target-value":  shown(func(p *plan.Plan) { p.Steps[1].Targets[0].Value = jsonOf(text("target-value")) }),
		"ask":           shown(func(p *plan.Plan) { p.Steps[3].Ask.Reason = text("ask") }),
		"approval":      asked(func(a *plan.Approval) { a.Reason = text("approval") }),
		"approval-url":  asked(func(a *plan.Approval) { a.URL = roomsURL + "/x?y=" + text("approval-url") }),
		"approval-body": asked(func(a *plan.Approval) { a.Body = jsonOf(text("approval-body")) }),
		"approval-tool": asked(func(a *plan.Approval) { a.Method = text("approval-tool") }),
		"approval-by":   asked(func(a *plan.Approval) { a.Decision, a.By, a.At = plan.Refused, text("approval-by"), noon }),
		"approval-note": asked(func(a *plan.Approval) {
			a.Decision, a.By, a.Note, a.At = plan.Refused, "luz", text("approval-note"), noon
		}),
		"doubt-url": func(string) plan.Run {
			r := doubtfulRun(nil)
			r.Steps[1].Last.URL = roomsURL + "/" + text("doubt-url")
			return r
		},
		"doubt-body": func(string) plan.Run {
			r := doubtfulRun(nil)
			r.Steps[1].Last.Body = jsonOf(text("doubt-body"))
			return r
		},
		"resolved-by":   resolvedBy(func(s *plan.Resolution) { s.By = text("resolved-by") }),
		"resolved-note": resolvedBy(func(s *plan.Resolution) { s.Note = text("resolved-note") }),
		"failure": func(string) plan.Run {
			r := undoneRun()
			r.Steps[len(r.Steps)-1].Error.Message = text("failure")
			return r
		},
		"result": func(string) plan.Run {
			r := undoneRun()
			r.Steps[1].Result.Body = jsonOf(text("result"))
			return r
		},
		"command": func(string) plan.Run {
			r := severalItems()
			r.Steps[1].Command.Now, r.Steps[1].Command.Because = text("command"), text("because")
			return r
		},
		"rejected": func(string) plan.Run {
			r := draft(fullPlan(noon))
			r.Status, r.Reason = plan.Cancelled, text("rejected")
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkUnharmed(t, renderFor(t, make(name), nil, luz, locale.Spanish), name)
		})
	}
}

// TestAnEditShowsBothSides, whoever wrote them.
func TestAnEditShowsBothSides(t *testing.T) {
	for name, change := range map[string]func(*plan.Plan){
		"goal":   func(p *plan.Plan) { p.Goal = hostile("goal") },
		"body":   func(p *plan.Plan) { p.Steps[1].Body = raw(`{"room_id":` + string(jsonOf(hostile("body"))) + `}`) },
		"path":   func(p *plan.Plan) { p.Steps[1].Path = "/" + hostile("path") },
		"member": func(p *plan.Plan) { p.Steps[1].Body = raw(`{` + string(jsonOf(hostile("member"))) + `:1}`) },
		"undo":   func(p *plan.Plan) { p.Steps[1].Undo.Path = "/" + hostile("undo") },
		"target": func(p *plan.Plan) { p.Steps[1].Targets[0].Label = hostile("target") },
		"ask":    func(p *plan.Plan) { p.Steps[1].Ask.Reason = hostile("ask") },
	} {
		for _, side := range []int{0, 1} {
			if side == 0 && name == "ask" { // there was none
				continue
			}
			r, list := editedRun()
			change(&list[side].Plan)
			if side == 1 {
				r.Plan = list[side].Plan
			}
			t.Run(name, func(t *testing.T) { checkUnharmed(t, renderFor(t, r, list, luz, locale.Spanish), name) })
		}
	}
}

// TestThePagesOfPlansShowTheirText: the rules, a receipt, and the page of an approval's link.
func TestThePagesOfPlansShowTheirText(t *testing.T) {
	page := func(t *testing.T, address, end string, change func(*world)) {
		w, _ := recordedWorld(t, "borra")
		change(w)
		body := get(t, w.page, address, ana).Body.String()
		if _, main, found := strings.Cut(body, "<main"); found { // the head has only the page's own data
			body = main
		}
		checkUnharmed(t, body, end)
	}
	ruled := func(change func(*rule.Rule)) func(*world) {
		return func(w *world) {
			r := rule.Rule{ID: "r1", Effect: rule.Ask, Method: "POST", Path: "/orders*", Reason: "r"}
			change(&r)
			w.rules = rule.Set{Version: 1, By: "luz", UpdatedAt: noon, Rules: []rule.Rule{r}}
		}
	}
	t.Run("a rule's reason", func(t *testing.T) {
		page(t, "/?view=rules", "reason", ruled(func(r *rule.Rule) { r.Reason = hostile("reason") }))
	})
	t.Run("a rule's path", func(t *testing.T) {
		page(t, "/?view=rules", "path", ruled(func(r *rule.Rule) { r.Path = hostile("path") }))
	})
	planned := func(change func(*plan.Run)) func(*world) {
		return func(w *world) {
			r := w.runs[fixedID]
			change(&r)
			w.runs[fixedID] = r
			w.planned[fixedID] = []plan.Revision{{Plan: r.Plan, Digest: r.Digest, By: r.User, At: noon}}
		}
	}
	last := func(r *plan.Run) *plan.Step { return &r.Plan.Steps[len(r.Plan.Steps)-1] }
	for name, change := range map[string]func(*plan.Run){
		"goal":  func(r *plan.Run) { r.Plan.Goal = hostile("goal") },
		"title": func(r *plan.Run) { last(r).Title = hostile("title") },
		"path":  func(r *plan.Run) { last(r).Path = "/" + hostile("path") },
		"user":  func(r *plan.Run) { r.User = hostile("user") },
	} {
		t.Run("a receipt's "+name, func(t *testing.T) { page(t, "/?view=receipt&run="+fixedID, name, planned(change)) })
	}
	t.Run("an approval's body", func(t *testing.T) {
		page(t, "/?approve="+fixedID, "body", planned(func(r *plan.Run) {
			for i := range r.Steps {
				if a := r.Steps[i].Approval; a != nil {
					changed := *a
					changed.Body = jsonOf(hostile("body"))
					r.Steps[i].Approval = &changed
				}
			}
		}))
	})
}
