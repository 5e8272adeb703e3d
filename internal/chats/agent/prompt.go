package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"piloto/internal/ground/locale"
)

// SectionFormat says what a decision looks like. It cannot be overridden.
const SectionFormat = "format"

// Sections are the parts of the router's prompt, in their order.
var Sections = []string{"identity", "business", "state", "delegation", "direct", SectionFormat}

// Bounds of what stands in the prompt.
const (
	promptBudget = 24 << 10 // bytes of the whole, unless a scene says otherwise
	promptName   = 200      // bytes of a name
	promptValue  = 800      // of another value of the persona
	promptSide   = 2 << 10  // of one side of an exchange
	promptAgents = 8 << 10  // of all the agents, as far as their names let it

	mostPlaced = 3 // times that a value stands in all the texts of one's own
)

// Scene is what the router's prompt is written from. All of it but Today and
// Overrides is data that others wrote. Memory has the newest exchange last, and
// Current is the agent of that one, "" when it was answered directly.
//
// Overrides holds plain texts by section. A text stands in place of its section's,
// under the same conditions: business only with a context, state only with memory.
// {nombre_bot}, {objetivo_principal}, {personalidad}, {modalidad}, {frase_saludo}
// and {agente_actual} are filled in, and so are {contexto_negocio}, {historial}
// and {agentes}, each between its tags; the one that belongs to a section follows
// its text when the text does not place it. A value is filled in three times at
// most in all texts together, so that they cannot outgrow the budget. Anything else stays as it is written.
type Scene struct {
	Today     string
	Persona   Persona
	Business  string
	Memory    []Exchange
	Current   string
	Agents    []Agent
	Overrides map[string]string
	Budget    int // bytes; 0 is 24 KB
}

// Prompt writes the system prompt by which a message is decided. When the budget
// does not hold it all, the oldest exchanges go first, then the end of the
// business context, line by line, and then the newest exchange. The rules and the
// names of the agents are never cut, so that a prompt without anything else may be
// larger than its budget.
func Prompt(tag locale.Tag, s Scene) (string, error) {
	w := writer{tag: tag, scene: s, budget: cmp.Or(s.Budget, promptBudget)}
	w.business = fenced(s.Business)
	w.history = history(tag, s.Memory)
	if slices.ContainsFunc(s.Agents, func(a Agent) bool { return a.Name == s.Current }) {
		w.current = inline(s.Current, promptName)
	}
	text, err := w.write()
	for err == nil && len(text) > w.budget && w.shrink(len(text)-w.budget) {
		text, err = w.write()
	}
	return text, err
}

// writer holds what is left of a scene while it is made to fit.
type writer struct {
	tag      locale.Tag
	scene    Scene
	budget   int
	business string
	history  []string // an exchange each, oldest first
	current  string
	left     bool // some exchanges were left out
	cut      bool // the end of the business context was
}

// shrink leaves out the next thing, and reports whether there was one. over is by
// how many bytes the prompt is too large.
func (w *writer) shrink(over int) bool {
	switch {
	case len(w.history) > 1:
		for len(w.history) > 1 && over > 0 {
			over -= len(w.history[0]) + 1
			w.history, w.left = w.history[1:], true
		}
	case w.business != "":
		keep := max(0, len(w.business)-over)
		if !w.cut { // the line that says so needs room as well
			keep = max(0, keep-len(w.say("agent.prompt.cut"))-1)
		}
		w.business = lines(w.business, keep)
		w.cut = w.business != ""
	case len(w.history) == 1:
		w.history, w.left = nil, true
	default:
		return false
	}
	return true
}

func (w *writer) write() (string, error) {
	blocks := map[string]string{
		"contexto_negocio": w.businessBlock(),
		"historial":        w.historyBlock(),
		"agentes":          w.agentsBlock(),
	}
	return locale.Prompt(w.tag, "router", map[string]any{
		"Today":     w.scene.Today,
		"Persona":   block("persona", w.personaLines()),
		"Modality":  w.value("modalidad") != "",
		"Business":  blocks["contexto_negocio"],
		"Remembers": len(w.scene.Memory) > 0,
		"Current":   w.current,
		"History":   blocks["historial"],
		"Agents":    blocks["agentes"],
		"First":     w.first(),
		"Own":       w.overrides(blocks),
	})
}

// belongs names the data of a section that a text of one's own cannot do without.
var belongs = map[string]string{"business": "contexto_negocio", "state": "historial", "delegation": "agentes"}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// overrides fills in the sections' own texts. What is filled in is not read
// again, and a block stands once in a text, a value a few times in all of them:
// what follows is its name.
func (w *writer) overrides(blocks map[string]string) map[string]string {
	own, filled := map[string]string{}, map[string]int{}
	for _, section := range Sections {
		text := fenced(w.scene.Overrides[section])
		if text == "" || section == SectionFormat {
			continue
		}
		placed := map[string]bool{}
		text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
			name := p[1 : len(p)-1]
			switch block, ok := blocks[name]; {
			case ok && placed[name]:
				return "‹" + name + "›"
			case ok:
				placed[name] = true
				return block
			case slices.Contains(values, name):
				if filled[name]++; filled[name] > mostPlaced {
					return "‹" + name + "›"
				}
				return w.value(name)
			}
			return p
		})
		if needs := belongs[section]; needs != "" && !placed[needs] && blocks[needs] != "" {
			text += "\n" + blocks[needs]
		}
		own[section] = strings.TrimSpace(text)
	}
	return own
}

func (w *writer) first() string {
	if len(w.scene.Agents) == 0 {
		return ""
	}
	return inline(w.scene.Agents[0].Name, promptName)
}

func (w *writer) say(key string, pairs ...string) string {
	return locale.Text(w.tag, key, pairs...)
}
