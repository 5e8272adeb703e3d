package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// delegation is the decision of a router about a message.
type delegation struct {
	Action   string  `json:"action"`
	Agent    *string `json:"agent_name"`
	Response string  `json:"response"`
}

// candidate is an agent that a message may be handed to: its name, and the words that count for it.
type candidate struct {
	name     string
	keywords []string // folded
	about    []string // concepts
}

// routing holds the parts of a request for a delegation that the rules read.
type routing struct {
	system, text string
	agents       []candidate
	say          speech
}

var (
	agentLine   = regexp.MustCompile(`^- ([A-Za-z0-9_-]+)(?:: (.*))?$`)
	keywordMark = regexp.MustCompile(`(?:Palabras clave|Keywords): `)
	activeLine  = regexp.MustCompile(`(?m)^(?:Agente activo|Active agent): ([A-Za-z0-9_-]+)\.`)
	fencedData  = regexp.MustCompile(`(?s)<(?:persona|business|history|agents)>\n.*?\n</(?:persona|business|history|agents)>`)
	spokenLine  = regexp.MustCompile(`^([\pL\d_-]+): `)
	greetLine   = regexp.MustCompile(`(?m)^frase_saludo: (.+)$`)
	parting     = regexp.MustCompile(`^\W*(?:(?:ok|vale|bueno|(?:muchas )?gracias|thanks|thank you)\W+)*(?:adios|chau|chao|hasta (?:luego|pronto|manana|otra)|nos vemos|bye|goodbye|see you)\b`)
	person      = regexp.MustCompile(`\b(?:hablar|comunicarme|pasame|atienda|speak|talk)\b.*\b(?:persona|humano|asesor|alguien|person|human|someone|somebody)\b`)
)

// wantedForm returns the schema of the requested answer, and the tool whose arguments have that
// schema ("" for the text).
func (c completion) wantedForm(choice string) (form schema, tool string, ok bool) {
	if c.Format.Type == "json_schema" {
		return c.Format.JSONSchema.Schema, "", true
	}
	if choice == "none" {
		return schema{}, "", false
	}
	for _, t := range c.Tools {
		if _, routes := t.Function.Parameters.Properties["agent_name"]; routes && (choice == "auto" || choice == "required" || choice == t.Function.Name) {
			return t.Function.Parameters, t.Function.Name, true
		}
	}
	return schema{}, "", false
}

// answerInForm answers in a form: a delegation when it has the member agent_name, else its simplest
// value.
func (c completion) answerInForm(form schema, tool string) decision {
	d := newDialogue(c.Messages, nil, c.today)
	value := any(nil)
	if property, routes := form.Properties["agent_name"]; routes {
		value = newRouting(d, property).decide()
	} else {
		value = plainValue(form, d.text)
	}
	if tool != "" {
		return callDecision(tool, value)
	}
	return decision{text: string(encode(value))}
}

// newRouting reads the agents of the prompt. It takes only names of the enumeration.
func newRouting(d dialogue, property schema) routing {
	r := routing{system: d.system}
	for _, m := range d.history {
		if m.Role == "user" {
			r.text = m.text()
		}
	}
	r.say = speech{inEnglish(r.text, inEnglish(textBetween(d.system, "# 1.", "# 2."), false))}
	descriptions := map[string]string{}
	for line := range strings.SplitSeq(textBetween(d.system, "<agents>", "</agents>"), "\n") {
		if m := agentLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			descriptions[m[1]] = m[2]
		}
	}
	for _, one := range property.Enum {
		name, ok := one.(string)
		if !ok {
			continue
		}
		agent := candidate{name: name, keywords: tokens(name)}
		about, words := descriptions[name], ""
		if at := keywordMark.FindStringIndex(about); at != nil {
			about, words = about[:at[0]], about[at[1]:]
		}
		agent.about = concepts(about)
		for word := range strings.SplitSeq(words, ",") {
			if word = strings.Join(tokens(word), " "); word != "" {
				agent.keywords = append(agent.keywords, word)
			}
		}
		r.agents = append(r.agents, agent)
	}
	return r
}

// textBetween returns the text between two marks; "" when the first is missing.
func textBetween(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	inside, _, _ := strings.Cut(rest, to)
	return inside
}

func (r routing) decide() delegation {
	folded := fold(strings.TrimSpace(r.text))
	switch {
	case folded == "" || greeting.MatchString(folded):
		return respond(r.greeting())
	case thanking.MatchString(folded) || parting.MatchString(folded) && len(strings.Fields(folded)) < 8:
		return respond(r.say.pick("De nada. ¡Hasta luego!", "You're welcome. See you!"))
	case person.MatchString(folded):
		return respond(r.say.pick("Soy un modelo de demostración y no puedo pasarte con una persona.", "I am a demonstration model and cannot put you through to a person."))
	case helping.MatchString(folded):
		return respond(r.abilities())
	}
	active := r.activeAgent()
	best, tied := r.bestAgents(active)
	switch {
	case best == "" && active != "":
		return handOff(active) // the message continues the conversation with this agent
	case best == "":
		return respond(r.unknown())
	case len(tied) > 1:
		return respond(fmt.Sprintf(r.say.pick("Eso puede ser de varios temas: %s. ¿De cuál?", "That could be about several things: %s. Which one?"), strings.Join(tied, ", ")))
	}
	return handOff(best)
}

func respond(text string) delegation { return delegation{Action: "respond", Response: text} }

func handOff(name string) delegation { return delegation{Action: "delegate", Agent: &name} }

// activeAgent returns the agent that answered last; "" for none.
func (r routing) activeAgent() string {
	name := ""
	if m := activeLine.FindStringSubmatch(fencedData.ReplaceAllString(r.system, "")); m != nil {
		name = m[1]
	} else {
		for line := range strings.SplitSeq(textBetween(r.system, "<history>", "</history>"), "\n") {
			if m := spokenLine.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
		}
	}
	if !slices.ContainsFunc(r.agents, func(a candidate) bool { return a.name == name }) {
		return ""
	}
	return name
}

// bestAgents returns the agent whose words occur most in the message, "" for none, and all agents
// with the same score. The active agent wins a tie.
func (r routing) bestAgents(active string) (string, []string) {
	most, best, tied := 0, "", []string(nil)
	for _, a := range r.agents {
		score := a.score(r.text)
		switch {
		case score == 0 || score < most:
		case score > most:
			most, best, tied = score, a.name, []string{a.name}
		default:
			tied = append(tied, a.name)
		}
	}
	if slices.Contains(tied, active) {
		return active, []string{active}
	}
	return best, tied
}

// score weighs the words of a message that count for an agent. Words of its description count less
// than its keywords.
func (a candidate) score(text string) int {
	words := tokens(text)
	whole := " " + strings.Join(words, " ") + " "
	known := concepts(text)
	score := 0
	for _, word := range a.keywords {
		switch {
		case strings.Contains(word, " "):
			if strings.Contains(whole, " "+word+" ") {
				score += 3
			}
		case slices.ContainsFunc(words, func(s string) bool { return concept(s) == concept(word) && concept(s) != "" || haveSameStem(s, word) }):
			score += 3
		}
	}
	for _, c := range a.about {
		if len(c) > 3 && slices.Contains(known, c) {
			score++
		}
	}
	return score
}

// haveSameStem reports whether two words are forms of one word: they differ only in the last
// letters.
func haveSameStem(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 5 && strings.HasPrefix(b, a[:len(a)-1])
}

// greeting returns the company's greeting when it is in the language of the message, else a
// default.
func (r routing) greeting() string {
	if m := greetLine.FindStringSubmatch(textBetween(r.system, "<persona>", "</persona>")); m != nil && inEnglish(m[1], r.say.en) == r.say.en {
		return m[1]
	}
	return r.say.pick("¡Hola! ¿En qué puedo ayudarte?", "Hello! How can I help you?")
}

func (r routing) unknown() string {
	return r.say.pick("Soy un modelo de demostración: sigo reglas fijas y no he entendido ese mensaje. ", "I am a demonstration model: I follow fixed rules and did not understand that message. ") + r.abilities()
}

func (r routing) abilities() string {
	if len(r.agents) == 0 {
		return r.say.pick("Ahora mismo no hay ningún agente a quien pasarle tu mensaje.", "There is no agent to hand your message to at the moment.")
	}
	names := make([]string, len(r.agents))
	for i, a := range r.agents {
		names[i] = a.name
	}
	return fmt.Sprintf(r.say.pick("Puedo pasar tu mensaje a estos agentes: %s.", "I can hand your message to these agents: %s."), strings.Join(names, ", "))
}
