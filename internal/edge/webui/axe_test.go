package webui

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"piloto/infra/local/fixture/chrome"
	"piloto/internal/conversation"
	"piloto/internal/runs/plan"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// richText has every construct of Markdown that the page renders.
const richText = "# Título\n\nUn *texto* con **peso**, `código` y [un enlace](https://example.org/a).\n\n## Lista\n\n- uno\n- dos\n  1. tres\n\n" +
	"- [x] hecho\n- [ ] pendiente\n\n| Sala | Plazas |\n|:--|--:|\n| Norte | 6 |\n\n> cita\n\n```go\npackage main\n\n// Un comentario.\nfunc main() { println(\"una línea que es más larga que cualquier pantalla estrecha\", 42, true, nil) }\n```\n\n" +
	"```\nsin lenguaje\n```\n\n---\n\nnoventayochocaracteresseguidosqueningúnnavegadorpuedepartirporquenotienenningúnespacioentreellosvaya"

// fill makes a chat with a run that is as far as until says, and returns both ids.
func (b *browser) fill(chat, words string, until plan.Status) string {
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	b.chats[chat] = conversation.Chat{ID: chat, Title: "Conversación de " + words, ProjectID: "p1", CreatedAt: b.now(), UpdatedAt: b.now()}
	b.world.say(chat, conversation.RoleUser, conversation.KindText, "", words)
	b.world.say(chat, conversation.RoleAssistant, conversation.KindText, "", richText)
	r := b.propose(chat, *planOf(words, b.now()))
	if until == plan.Draft {
		return r.ID
	}
	b.world.start(r.ID)
	for r = b.runs[r.ID]; r.Status != until && r.Status.Active(); b.runs[r.ID] = r {
		b.advance(&r)
		if until == plan.Running && r.Steps[1].Status == plan.StepRunning {
			break
		}
	}
	b.runs[r.ID] = r
	return r.ID
}

// everyView fills the world and returns the addresses of all views, by name.
func (b *browser) everyView() map[string]string {
	b.Helper()
	b.spend()
	b.hold(true)
	done := b.fill("c-done", "reserva", plan.Done)
	waiting := b.fill("c-waiting", "borra", plan.Waiting)
	b.fill("c-draft", "borra ya", plan.Draft)
	b.fill("c-running", "reserva ya", plan.Running)
	b.fill("c-said", "reserva luego", plan.Draft)
	b.fill("c-doubt", "duda", plan.InDoubt)
	b.fill("c-failed", "falla", plan.Failed)
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	b.world.say("c-said", conversation.RoleAssistant, conversation.KindText, "", "Ya está reservado.")
	b.notes = []conversation.Note{{Code: conversation.NoteNothingDone, Text: "No se ha ejecutado nada desde tu mensaje."}, {Code: conversation.NoteCost, Text: "Ha costado más."}}
	b.noted("c-said")
	b.notes = nil
	return map[string]string{
		"new": "/", "contradicted": "/?chat=c-said", "draft": "/?chat=c-draft", "running": "/?chat=c-running", "done": "/?chat=c-done", "doubt": "/?chat=c-doubt", "failed": "/?chat=c-failed",
		"waiting": "/?chat=c-waiting", "approval": "/?approve=" + waiting + "&step=s2", "receipt": "/?view=receipt&run=" + done,
		"servers": "/?view=servers", "server": "/?view=servers&id=rooms", "projects": "/?view=projects", "project": "/?view=projects&id=p1",
		"assistants": "/?view=assistants", "assistant": "/?view=assistants&id=p1", "credits": "/?view=credits", "rules": "/?view=rules", "webhooks": "/?view=webhooks", "inbox": "/?view=waiting", "settings": "/?view=settings", "runs": "/?view=runs",
		"missing": "/?chat=none",
	}
}

// scene is something that the page shows: a view, and the keys or the expression that open a dialog above it.
type scene struct {
	path, opens string
	keys        []string
}

// everyScene returns all views, and the dialogs above some.
func (b *browser) everyScene() map[string]scene {
	b.Helper()
	scenes := map[string]scene{}
	for name, path := range b.everyView() {
		scenes[name] = scene{path: path}
	}
	for name, keys := range map[string][]string{"palette": {"Ctrl+k"}, "palette-none": {"Ctrl+k", "z", "q"}, "keys": {"?"}} {
		scenes[name] = scene{path: "/?chat=c-done", keys: keys}
	}
	press := func(css string) string { return `document.querySelectorAll('` + css + `').forEach(e => e.click())` }
	for name, s := range map[string]scene{
		"editor":    {path: "/?chat=c-draft", opens: press(`[data-action="edit-run"]`)},
		"reject":    {path: "/?chat=c-draft", opens: press(`[data-action="reject-run"]`)},
		"chat-menu": {path: "/?chat=c-done", opens: press(`[data-row="c-draft"] .chat-more`)},
		"review":    {path: "/?view=waiting", opens: press(".wait-pick") + ", " + press(`[data-action="review"]`)},
	} {
		scenes[name] = s
	}
	return scenes
}

// show goes to a scene.
func (b *browser) show(s scene) {
	b.Helper()
	b.visit(s.path)
	b.until(`document.readyState === "complete"`)
	b.press(s.keys...)
	if s.opens != "" {
		eval[bool](b, `(`+s.opens+`, true)`)
	}
	if s.keys != nil || s.opens != "" {
		b.see("dialog[open]")
	}
}

// screen sets the size of the window, the theme that the system prefers, and whether it is touched.
func (b *browser) screen(width, height int64, dark, touch bool) {
	b.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, height),
		chrome.Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
		chrome.Call(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: touch}))
}

// stillness waits until nothing moves except endless animations.
const stillness = `document.getAnimations().every(a => a.playState !== "running" || a.effect.getTiming().iterations === Infinity)`

// TestAxeFindsNothing in any view, language, theme and width. `make axe` runs it: axe-core is not in the tree.
func TestAxeFindsNothing(t *testing.T) {
	folder := os.Getenv("PILOTO_AXE")
	if folder == "" {
		t.Skip("PILOTO_AXE names no folder with axe-core; `make axe` does")
	}
	axe, err := os.ReadFile(filepath.Join(folder, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, 1440, 900)
	scenes := b.everyScene()
	for _, lang := range []string{"es", "en"} {
		for name, scene := range scenes {
			b.do(setCookie(b.base, langCookie, lang))
			b.show(scene)
			eval[bool](b, string(axe)+`; true`)
			eval[bool](b, `document.querySelectorAll("details").forEach(fold => fold.open = true) || true`)
			for _, dark := range []bool{false, true} {
				for _, width := range []int64{1440, 768, 390} {
					b.screen(width, 900, dark, width == 390)
					b.until(stillness)
					for _, found := range eval[[]string](b, `axe.run(document).then(r => r.violations.flatMap(v => v.nodes.slice(0, 4).map(n => v.id + " " + n.target.join(" ") + " " + (n.any[0]?.message || n.all[0]?.message || n.none[0]?.message || "") + " " + n.html.slice(0, 160))))`) {
						t.Errorf("%s, %s, dark %v, %d px: %s", name, lang, dark, width, found)
					}
					b.picture(fmt.Sprintf("axe-%s-%s-%d-%v", name, lang, width, dark))
				}
			}
		}
	}
}

func setCookie(base, name, value string) chromedp.Action[chromedp.Void] {
	return chrome.Call(network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: base})
}
