package agent

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"piloto/internal/ground/locale"
)

// SectionFormat is the section with the format of a decision. It cannot be overridden.
const SectionFormat = "format"

// Sections lists the sections of the router's prompt, in their order.
var Sections = []string{"identity", "business", "state", "delegation", "direct", SectionFormat}

// Bounds of the prompt.
const (
	promptBudget = 24 << 10 // bytes of the whole, unless a scene says otherwise
	promptName   = 200      // bytes of a name
	promptValue  = 800      // of another value of the persona
	promptSide   = 2 << 10  // of one side of an exchange
	promptAgents = 8 << 10  // of all agents, as far as their names allow it

	maxInsertions = 3 // insertions of one value in all of an account's own texts
)

// Scene holds the data of the router's prompt. All of it except Today and Overrides is
// untrusted. Memory has the newest exchange last. Current is the agent of that exchange, "" when
// it was answered directly.
//
// Overrides holds plain texts by section. A text replaces that of its section, under the same conditions: business only
// with a context, state only with memory. The placeholders {nombre_bot}, {objetivo_principal}, {personalidad},
// {modalidad}, {frase_saludo} and {agente_actual} are replaced by values, and {contexto_negocio}, {historial} and
// {agentes} by blocks between tags. The block that a section requires follows its text when the text does not contain
// it. A value is inserted at most three times in all texts together, so that they stay within the budget. All other text
// stays unchanged.
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

// Prompt returns the system prompt for a decision. When the prompt exceeds the budget, it drops
// the oldest exchanges first, then the end of the business context, line by line, and then the
// newest exchange. It never cuts the rules and the names of the agents, so that a prompt without
// other data may exceed the budget.
func Prompt(tag locale.Tag, s Scene) (string, error) {
	w := writer{tag: tag, scene: s, budget: cmp.Or(s.Budget, promptBudget)}
	w.business = escapeTags(s.Business)
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

// writer holds the rest of a scene while the prompt is made to fit.
type writer struct {
	tag      locale.Tag
	scene    Scene
	budget   int
	business string
	history  []string // an exchange each, oldest first
	current  string
	omitted  bool // some exchanges were dropped
	cut      bool // the end of the business context was dropped
}

// shrink drops the next part, and reports whether there was one. over is the excess of the
// prompt, in bytes.
func (w *writer) shrink(over int) bool {
	switch {
	case len(w.history) > 1:
		for len(w.history) > 1 && over > 0 {
			over -= len(w.history[0]) + 1
			w.history, w.omitted = w.history[1:], true
		}
	case w.business != "":
		keep := max(0, len(w.business)-over)
		if !w.cut { // the note of the cut needs room as well
			keep = max(0, keep-len(w.text("agent.prompt.cut"))-1)
		}
		w.business = wholeLines(w.business, keep)
		w.cut = w.business != ""
	case len(w.history) == 1:
		w.history, w.omitted = nil, true
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
		"First":     w.firstAgent(),
		"Own":       w.overrides(blocks),
	})
}

// requiredBlock names the block that an account's own text for a section must contain.
var requiredBlock = map[string]string{"business": "contexto_negocio", "state": "historial", "delegation": "agentes"}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z_]+\}`) })

// overrides replaces the placeholders of an account's own texts. Inserted text is not searched
// again. A block is inserted once in a text, and a value maxInsertions times in all texts; after
// that only its name is inserted.
func (w *writer) overrides(blocks map[string]string) map[string]string {
	own, filled := map[string]string{}, map[string]int{}
	for _, section := range Sections {
		text := escapeTags(w.scene.Overrides[section])
		if text == "" || section == SectionFormat {
			continue
		}
		placed := map[string]bool{}
		text = placeholder().ReplaceAllStringFunc(text, func(p string) string {
			name := p[1 : len(p)-1]
			switch block, ok := blocks[name]; {
			case ok && placed[name]:
				return "‹" + name + "›"
			case ok:
				placed[name] = true
				return block
			case slices.Contains(valueNames, name):
				if filled[name]++; filled[name] > maxInsertions {
					return "‹" + name + "›"
				}
				return w.value(name)
			}
			return p
		})
		if needs := requiredBlock[section]; needs != "" && !placed[needs] && blocks[needs] != "" {
			text += "\n" + blocks[needs]
		}
		own[section] = strings.TrimSpace(text)
	}
	return own
}

func (w *writer) firstAgent() string {
	if len(w.scene.Agents) == 0 {
		return ""
	}
	return inline(w.scene.Agents[0].Name, promptName)
}

func (w *writer) text(key string, pairs ...string) string {
	return locale.Text(w.tag, key, pairs...)
}
