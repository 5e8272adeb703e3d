package agent

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/locale"
)

// values are the placeholders that stand for one value, in the order in which
// the persona tells them. agente_actual is none of the persona's.
var values = []string{"nombre_bot", "objetivo_principal", "personalidad", "modalidad", "frase_saludo", "agente_actual"}

// value is what a placeholder stands for, on one line.
func (w *writer) value(name string) string {
	p := w.scene.Persona
	switch name {
	case "nombre_bot":
		return inline(cmp.Or(strings.TrimSpace(p.Name), w.say("agent.persona.name")), promptName)
	case "objetivo_principal":
		return inline(cmp.Or(strings.TrimSpace(p.Goal), w.say("agent.persona.goal")), promptValue)
	case "personalidad":
		return inline(cmp.Or(strings.TrimSpace(p.Personality), w.say("agent.persona.personality")), promptValue)
	case "modalidad":
		return inline(p.Modality, promptValue)
	case "frase_saludo":
		return inline(cmp.Or(strings.TrimSpace(p.Greeting), w.say("agent.persona.greeting")), promptValue)
	}
	return cmp.Or(w.current, w.say("agent.prompt.none"))
}

func (w *writer) personaLines() string {
	var told []string
	for _, name := range values[:len(values)-1] {
		if value := w.value(name); value != "" {
			told = append(told, name+": "+value)
		}
	}
	return strings.Join(told, "\n")
}

func (w *writer) businessBlock() string {
	text := w.business
	if w.cut {
		text = strings.TrimSpace(text + "\n" + w.say("agent.prompt.cut"))
	}
	return block("business", text)
}

func (w *writer) historyBlock() string {
	told := w.history
	if w.left {
		told = append([]string{w.say("agent.prompt.omitted")}, told...)
	}
	return block("history", strings.Join(told, "\n"))
}

// agentsBlock tells the agents, a line each. Many share the room that there is
// for them: each says less of itself, and none is left out.
func (w *writer) agentsBlock() string {
	if len(w.scene.Agents) == 0 {
		return ""
	}
	room := promptAgents / len(w.scene.Agents)
	var told []string
	for _, a := range w.scene.Agents {
		line := "- " + inline(a.Name, promptName)
		if left := room - len(line) - 3; left > 20 {
			line += ": " + inline(w.about(a), left)
		}
		told = append(told, line)
	}
	return block("agents", strings.Join(told, "\n"))
}

// about says what an agent is for, and its keywords: as it was registered, else
// as agents of its name usually are, else as its tool says.
func (w *writer) about(a Agent) string {
	about, words := strings.TrimSpace(a.About), strings.Join(a.Keywords, ", ")
	if preset := "agent.preset." + strings.ToLower(a.Name); Preset(a.Name) {
		about = cmp.Or(about, w.say(preset))
		words = cmp.Or(words, w.say(preset+".keywords"))
	}
	about = cmp.Or(about, strings.TrimSpace(a.Chat.Description), strings.TrimSpace(a.Chat.Summary), w.say("agent.prompt.undescribed"))
	if words == "" {
		return about
	}
	if !strings.HasSuffix(about, ".") {
		about += "."
	}
	return about + " " + w.say("agent.prompt.keywords", "words", words)
}

// history writes exchanges, each with who spoke at the beginning of a line. The
// further lines of what was said are set in, so that no text can speak for another.
func history(tag locale.Tag, memory []Exchange) []string {
	person, self := locale.Text(tag, "agent.prompt.person"), locale.Text(tag, "agent.prompt.self")
	told := make([]string, 0, len(memory))
	for _, e := range memory {
		told = append(told, spoken(person, e.User)+"\n"+spoken(cmp.Or(inline(e.Agent, promptName), self), e.Response))
	}
	return told
}

func spoken(who, text string) string {
	return who + ": " + strings.ReplaceAll(ended(fenced(text), promptSide), "\n", "\n  ")
}

// block puts text between tags; nothing for none.
func block(tag, text string) string {
	if text == "" {
		return ""
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

// fenced makes a text safe between two tags of the prompt: it can neither close
// nor open one, and holds no character that is not seen.
func fenced(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '<':
			return '‹'
		case r == '>':
			return '›'
		case r == '\n':
			return r
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	return strings.TrimSpace(s)
}

// inline is fenced on one line of at most most bytes.
func inline(s string, most int) string {
	return ended(strings.Join(strings.Fields(fenced(s)), " "), most)
}

// ended cuts a text to most bytes, between two characters, and says so.
func ended(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const mark = "…"
	most = max(0, most-len(mark))
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.TrimSpace(s[:most]) + mark
}

// lines keeps the whole lines of the first most bytes. A single line that is
// longer is cut between two characters, unless it would say nothing.
func lines(s string, most int) string {
	switch {
	case len(s) <= most:
		return s
	case most < 16:
		return ""
	}
	if end := strings.LastIndexByte(s[:most+1], '\n'); end >= 0 {
		return strings.TrimSpace(s[:end])
	}
	return strings.TrimSpace(ended(s, most))
}
