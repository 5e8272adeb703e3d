package demo

import (
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

// candidate is an agent that a message may be handed to. A keyword counts three times, and a word of
// its description once.
type candidate struct {
	name     string
	keywords [][]string // the concepts of each
	about    []string   // concepts
}

// routing holds the parts of a request for a delegation that the rules read.
type routing struct {
	system, text string
	agents       []candidate
	speech       speech
}

var (
	agentLine   = regexp.MustCompile(`^- ([A-Za-z0-9_-]+)(?:: (.*))?$`)
	keywordMark = regexp.MustCompile(`(?:Palabras clave|Keywords): `)
	activeLine  = regexp.MustCompile(`(?m)^(?:Agente activo|Active agent): ([A-Za-z0-9_-]+)\.`)
	fencedData  = regexp.MustCompile(`(?s)<(?:persona|business|history|agents)>\n.*?\n</(?:persona|business|history|agents)>`)
	spokenLine  = regexp.MustCompile(`(?m)^([\pL\d_-]+): `)
	greetLine   = regexp.MustCompile(`(?m)^frase_saludo: (.+)$`)
	parting     = regexp.MustCompile(`^\W*(?:(?:ok|vale|bueno|(?:muchas )?gracias|thanks|thank you)\W+)*(?:adios|chau|chao|hasta (?:luego|pronto|manana|otra)|nos vemos|bye|goodbye|see you)\b`)
	person      = regexp.MustCompile(`\b(?:hablar|comunicarme|pasame|atienda|speak|talk)\b.*\b(?:persona|humano|asesor|alguien|person|human|someone|somebody)\b`)
)

// newRouting reads the prompt, with the descriptions of the agents of these names.
func newRouting(d dialogue, names []string) routing {
	r := routing{system: d.system}
	r.speech.en = inEnglish(textBetween(d.system, "# 1.", "# 2."), inEnglish(openingOf(d.system), false))
	for _, m := range d.history {
		if m.Role == "user" {
			r.text = textOf(m)
			r.speech.en = inEnglish(r.text, r.speech.en)
		}
	}
	descriptions := map[string]string{}
	for line := range strings.SplitSeq(textBetween(d.system, "<agents>\n", "</agents>"), "\n") {
		if m := agentLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			descriptions[m[1]] = m[2]
		}
	}
	for _, name := range names {
		about, words := descriptions[name], ""
		if at := keywordMark.FindStringIndex(about); at != nil {
			about, words = about[:at[0]], about[at[1]:]
		}
		agent := candidate{name: name, about: concepts(about)}
		for keyword := range strings.SplitSeq(words+","+name, ",") {
			agent.keywords = append(agent.keywords, concepts(keyword))
		}
		r.agents = append(r.agents, agent)
	}
	return r
}

func (r routing) decide() delegation {
	folded := fold(strings.TrimSpace(r.text))
	switch {
	case folded == "" || greeting.MatchString(folded):
		return respond(r.greeting())
	case thanking.MatchString(folded) || parting.MatchString(folded) && len(strings.Fields(folded)) < 8:
		return respond(r.speech.say("router.bye"))
	case person.MatchString(folded):
		return respond(r.speech.say("router.person"))
	case helping.MatchString(folded):
		return respond(r.abilities())
	}
	active, best := r.activeAgent(), r.bestAgents()
	switch {
	case active != "" && (len(best) == 0 || slices.Contains(best, active)): // the message continues the conversation
		return handOff(active)
	case len(best) == 0:
		return respond(r.speech.say("router.unknown", r.abilities()))
	case len(best) > 1:
		return respond(r.speech.say("router.which", strings.Join(best, ", ")))
	}
	return handOff(best[0])
}

func respond(text string) delegation { return delegation{Action: "respond", Response: text} }

func handOff(name string) delegation { return delegation{Action: "delegate", Agent: &name} }

// activeAgent returns the agent that answered last; "" for none.
func (r routing) activeAgent() string {
	name := ""
	if m := activeLine.FindStringSubmatch(fencedData.ReplaceAllString(r.system, "")); m != nil {
		name = m[1]
	} else if said := spokenLine.FindAllStringSubmatch(textBetween(r.system, "<history>\n", "</history>"), -1); len(said) > 0 {
		name = said[len(said)-1][1]
	}
	if !slices.ContainsFunc(r.agents, func(a candidate) bool { return a.name == name }) {
		return ""
	}
	return name
}

// bestAgents returns the agents whose words occur most in the message.
func (r routing) bestAgents() []string {
	most, best := 1, []string(nil)
	for _, a := range r.agents {
		score := a.score(r.text)
		if score > most {
			most, best = score, nil
		}
		if score == most {
			best = append(best, a.name)
		}
	}
	return best
}

// score weighs the words of a message that count for an agent.
func (a candidate) score(text string) (score int) {
	said := concepts(text)
	missing := func(c string) bool { return !slices.Contains(said, c) }
	for _, keyword := range a.keywords {
		if len(keyword) > 0 && !slices.ContainsFunc(keyword, missing) {
			score += 3
		}
	}
	for _, c := range a.about {
		if len(c) > 3 && !missing(c) {
			score++
		}
	}
	return score
}

// greeting returns the company's greeting when it is in the language of the message, else a
// default.
func (r routing) greeting() string {
	if m := greetLine.FindStringSubmatch(textBetween(r.system, "<persona>\n", "</persona>")); m != nil && inEnglish(m[1], r.speech.en) == r.speech.en {
		return m[1]
	}
	return r.speech.say("router.greet")
}

func (r routing) abilities() string {
	if len(r.agents) == 0 {
		return r.speech.say("router.nobody")
	}
	names := make([]string, len(r.agents))
	for i, a := range r.agents {
		names[i] = a.name
	}
	return r.speech.say("router.agents", strings.Join(names, ", "))
}
