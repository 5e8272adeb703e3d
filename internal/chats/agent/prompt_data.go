package agent

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/locale"
)

// valueNames lists the placeholders for one value, in the order of the persona's lines.
// agente_actual does not belong to the persona.
var valueNames = []string{"nombre_bot", "objetivo_principal", "personalidad", "modalidad", "frase_saludo", "agente_actual"}

// value returns the value of a placeholder, on one line.
func (w *writer) value(name string) string {
	p := w.scene.Persona
	switch name {
	case "nombre_bot":
		return inline(cmp.Or(strings.TrimSpace(p.Name), w.text("agent.persona.name")), promptName)
	case "objetivo_principal":
		return inline(cmp.Or(strings.TrimSpace(p.Goal), w.text("agent.persona.goal")), promptValue)
	case "personalidad":
		return inline(cmp.Or(strings.TrimSpace(p.Personality), w.text("agent.persona.personality")), promptValue)
	case "modalidad":
		return inline(p.Modality, promptValue)
	case "frase_saludo":
		return inline(cmp.Or(strings.TrimSpace(p.Greeting), w.text("agent.persona.greeting")), promptValue)
	}
	return cmp.Or(w.current, w.text("agent.prompt.none"))
}

func (w *writer) personaLines() string {
	var list []string
	for _, name := range valueNames[:len(valueNames)-1] {
		if value := w.value(name); value != "" {
			list = append(list, name+": "+value)
		}
	}
	return strings.Join(list, "\n")
}

func (w *writer) businessBlock() string {
	text := w.business
	if w.cut {
		text = strings.TrimSpace(text + "\n" + w.text("agent.prompt.cut"))
	}
	return block("business", text)
}

func (w *writer) historyBlock() string {
	list := w.history
	if w.omitted {
		list = append([]string{w.text("agent.prompt.omitted")}, list...)
	}
	return block("history", strings.Join(list, "\n"))
}

// agentsBlock lists the agents, one per line. They share the room: each of many agents gets a
// shorter description, and none is left out.
func (w *writer) agentsBlock() string {
	if len(w.scene.Agents) == 0 {
		return ""
	}
	room := promptAgents / len(w.scene.Agents)
	var list []string
	for _, a := range w.scene.Agents {
		line := "- " + inline(a.Name, promptName)
		if left := room - len(line) - 3; left > 20 {
			line += ": " + inline(w.about(a), left)
		}
		list = append(list, line)
	}
	return block("agents", strings.Join(list, "\n"))
}

// about returns an agent's description and keywords: those of its registration, else of its
// preset, else of its tool.
func (w *writer) about(a Agent) string {
	about, words := strings.TrimSpace(a.About), strings.Join(a.Keywords, ", ")
	if preset := "agent.preset." + strings.ToLower(a.Name); Preset(a.Name) {
		about = cmp.Or(about, w.text(preset))
		words = cmp.Or(words, w.text(preset+".keywords"))
	}
	about = cmp.Or(about, strings.TrimSpace(a.Chat.Description), strings.TrimSpace(a.Chat.Summary), w.text("agent.prompt.undescribed"))
	if words == "" {
		return about
	}
	if !strings.HasSuffix(about, ".") {
		about += "."
	}
	return about + " " + w.text("agent.prompt.keywords", "words", words)
}

// history formats exchanges, with the speaker at the beginning of a line. Further lines of a
// text are indented, so that no text can imitate another speaker.
func history(tag locale.Tag, memory []Exchange) []string {
	person, self := locale.Text(tag, "agent.prompt.person"), locale.Text(tag, "agent.prompt.self")
	list := make([]string, 0, len(memory))
	for _, e := range memory {
		list = append(list, speakerLine(person, e.User)+"\n"+speakerLine(cmp.Or(inline(e.Agent, promptName), self), e.Response))
	}
	return list
}

func speakerLine(who, text string) string {
	return who + ": " + strings.ReplaceAll(clip.Bytes(escapeTags(text), promptSide), "\n", "\n  ")
}

// block puts a text between tags. It returns "" for an empty text.
func block(tag, text string) string {
	if text == "" {
		return ""
	}
	return "<" + tag + ">\n" + text + "\n</" + tag + ">"
}

// escapeTags makes a text safe between two tags of the prompt: it can neither close nor open
// one, and has no invisible character.
func escapeTags(s string) string {
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

// inline applies escapeTags and returns one line of at most most bytes.
func inline(s string, most int) string {
	return clip.Bytes(clip.Line(escapeTags(s)), most)
}

// wholeLines returns the whole lines within the first most bytes. A single longer line is cut
// between two characters, or dropped when most is less than 16.
func wholeLines(s string, most int) string {
	switch {
	case len(s) <= most:
		return s
	case most < 16:
		return ""
	}
	if end := strings.LastIndexByte(s[:most+1], '\n'); end >= 0 {
		return strings.TrimSpace(s[:end])
	}
	return strings.TrimSpace(clip.Bytes(s, most))
}
