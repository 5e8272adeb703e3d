package demo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/intent"
)

// toolCall is one function call of the model.
type toolCall struct {
	Name      string
	Arguments string // JSON
}

// decision is a complete answer: a call, or text.
type decision struct {
	text string
	call *toolCall
}

// dialogue holds the parts of a request that the rules read.
type dialogue struct {
	system  string
	text    string    // the person's request, with earlier parts of the same request
	history []message // all messages but system ones
	tail    []message // messages after the person's last message
	tools   []string  // names that may be called
	today   time.Time
	say     speech
}

const (
	toolRequest = "mcp_request"
	toolPlan    = "propose_plan"
	toolSearch  = "search_tools"
	maxRefusals = 2
)

func newDialogue(messages []message, tools []string, today time.Time) dialogue {
	d := dialogue{tools: tools, today: today}
	for _, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			d.system += m.text() + "\n"
		} else {
			d.history = append(d.history, m)
		}
	}
	last := -1
	var inLanguage bool
	for i, m := range d.history {
		if m.Role == "user" {
			last = i
			inLanguage = inEnglish(m.text(), inLanguage)
		}
	}
	d.say = speech{inLanguage}
	if last >= 0 {
		d.text, d.tail = d.mergedRequest(last), d.history[last+1:]
	}
	return d
}

// mergedRequest returns the message at i together with the request that it completes. A message
// completes a request when it answers a question and starts no request of its own.
func (d dialogue) mergedRequest(i int) string {
	text := d.history[i].text()
	if i < 2 || d.history[i-1].Role != "assistant" || d.history[i-2].Role != "user" {
		return text
	}
	names, ok := askedNames(d.history[i-1].text())
	kind, _ := intentOf(text)
	if !ok || kind != noVerb || intent.Classify(text) != intent.Other || greeting.MatchString(fold(text)) {
		return text
	}
	bare := strings.Trim(strings.TrimSpace(text), ".!")
	if len(names) == 1 && len(strings.Fields(bare)) == 1 && !strings.Contains(bare, "=") && !isDateWord(bare) {
		text = names[0] + "=" + bare
	}
	return d.mergedRequest(i-2) + " , " + text
}

// isDateWord reports whether only the date rules can read a word, such as mañana.
func isDateWord(word string) bool {
	word = fold(word)
	return relativeText.MatchString(word) || weekdayText.MatchString(word) || numerals[word] > 0 || slashText.MatchString(word) || clockText.MatchString(word)
}

var (
	greeting = regexp.MustCompile(`^\W*(?:hola|buenas|buenos dias|buenas tardes|buenas noches|hello|hi|hey|good morning|good afternoon|good evening)(?:[\s,.!?¿¡]+(?:piloto|a todos|there|que tal|como estas|how are you))*[\s,.!?¿]*$`)
	thanking = regexp.MustCompile(`^\W*(?:muchas )?(?:gracias|thanks|thank you)(?: (?:a lot|so much|very much|piloto|por todo|por la ayuda|a ti))?\W*$`)
	helping  = regexp.MustCompile(`(?:que (?:puedes|sabes) hacer|^\W*ayuda\W*$|^\W*help\W*$|what can you do|quien eres|who are you|que eres|como funciona|how do(?:es)? (?:you|this|it) work)`)
	literal  = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE)\s+(/\S*)`)
	routes   = regexp.MustCompile(`not found|not_allowed|no such|allowlist|not in the catalogue|no existe|unknown (?:path|endpoint|operation|tool)|endpoint`)
)

// decide answers the dialogue without a restriction on tools.
func (d dialogue) decide() decision {
	ops := readCatalogue(d.system)
	searched, refusals := false, 0
	for _, m := range d.tail {
		if m.Role != "tool" {
			continue
		}
		if found, ok := readFound(m.text()); ok {
			searched = true
			ops = append(ops, found...)
		} else if d.callOf(m).Name == toolSearch {
			searched = true
		} else {
			refusals++
		}
	}
	if refusals > 0 && d.tail[len(d.tail)-1].Role == "tool" && d.callOf(d.tail[len(d.tail)-1]).Name != toolSearch {
		return d.afterRefusal(d.tail[len(d.tail)-1], ops, searched, refusals)
	}
	if text, ok := d.smallTalk(ops); ok {
		return decision{text: text}
	}
	if change, ok := d.revise(ops); ok {
		return change
	}
	return d.act(ops, searched)
}

func (d dialogue) smallTalk(ops []operation) (string, bool) {
	folded := fold(d.text)
	switch {
	case greeting.MatchString(folded), strings.TrimSpace(d.text) == "", helping.MatchString(folded):
		return d.say.greet(ops), true
	case thanking.MatchString(folded):
		return d.say.thanks(), true
	case intent.Classify(d.text) != intent.Other:
		return d.say.nothingPending(), true
	}
	return "", false
}

// act finds the operation that the person means and calls a tool for it, or asks.
func (d dialogue) act(ops []operation, searched bool) decision {
	f := readFacts(d.text, parameterNames(ops), d.today)
	kind, nouns := intentOf(f.rest)
	op, ok := findLiteral(ops, d.text, &f)
	if !ok {
		op, ok = choose(ops, kind, nouns, f)
	}
	if !ok {
		if !searched && kind != noVerb && len(nouns) > 0 && d.hasTool(toolSearch) {
			return callDecision(toolSearch, map[string]string{"query": strings.Join(nouns, " ")})
		}
		return decision{text: d.say.unknown(ops)}
	}
	if plan, missing, many := chain(ops, op, f, d.goal()); many && d.hasTool(toolPlan) {
		if len(missing) > 0 {
			return decision{text: d.say.ask(op.title(), op.address(), missing)}
		}
		return callDecision(toolPlan, plan)
	}
	request, missing := build(op, f, nil)
	switch {
	case len(missing) > 0:
		return decision{text: d.say.ask(op.title(), op.address(), missing)}
	case d.hasTool(toolRequest):
		return callDecision(toolRequest, request)
	case d.hasTool(toolPlan):
		return callDecision(toolPlan, planProposal{d.goal(), []planStep{{ID: "s1", Title: op.title(), mcpRequest: request}}})
	default:
		return decision{text: d.say.noTool(op)}
	}
}

// goal returns the person's own request, on one line of at most 120 characters.
func (d dialogue) goal() string {
	text := []rune(strings.Join(strings.Fields(strings.ReplaceAll(d.text, " , ", ", ")), " "))
	return string(text[:min(len(text), 120)])
}

func (d dialogue) hasTool(name string) bool { return slices.Contains(d.tools, name) }

// parameterNames returns the folded names of all parameters, and their concepts.
func parameterNames(ops []operation) map[string]bool {
	names := map[string]bool{}
	for _, op := range ops {
		for _, p := range slices.Concat(op.placeholders(), op.Query, op.Body) {
			names[fold(p.Name)] = true
			if c := concept(fold(p.Name)); c != "" {
				names[c] = true
			}
		}
	}
	return names
}

// findLiteral finds the operation of a message such as «GET /rooms/norte», and adds the values of
// its path to the facts.
func findLiteral(ops []operation, text string, f *facts) (operation, bool) {
	m := literal.FindStringSubmatch(text)
	if m == nil {
		return operation{}, false
	}
	path, _, _ := strings.Cut(strings.TrimRight(m[2], ".,;!?"), "?")
	for _, op := range ops {
		if op.Method != m[1] {
			continue
		}
		marks, given := strings.Split(op.Path, "/"), strings.Split(path, "/")
		if len(marks) != len(given) {
			continue
		}
		values, same := map[string]string{}, true
		for i, mark := range marks {
			switch name, ok := strings.CutPrefix(mark, "{"); {
			case ok && given[i] != "":
				if name = strings.TrimSuffix(name, "}"); given[i] != mark {
					values[fold(name)] = given[i]
				}
			default:
				same = same && mark == given[i]
			}
		}
		if same {
			for name, value := range values {
				f.pairs[name] = value
			}
			return op, true
		}
	}
	return operation{}, false
}

// callOf returns the call that a tool message answers.
func (d dialogue) callOf(answer message) toolCall {
	for _, m := range slices.Backward(d.tail) {
		for _, c := range m.ToolCalls {
			if c.ID == answer.ToolCallID {
				return toolCall{c.Function.Name, c.Function.Arguments}
			}
		}
	}
	return toolCall{}
}

// afterRefusal answers after a call that failed: it drops unknown members, asks for missing values,
// searches for a missing operation, or reports the refusal. After a call that made a draft it only
// points to the draft.
func (d dialogue) afterRefusal(answer message, ops []operation, searched bool, refusals int) decision {
	reason, previous := answer.text(), d.callOf(answer)
	var made struct {
		Run string `json:"run_id"`
	}
	if json.Unmarshal([]byte(reason), &made) == nil && made.Run != "" {
		return decision{text: d.say.draftReady()}
	}
	if refusals > maxRefusals {
		return decision{text: d.say.refusal(reason)}
	}
	arguments, missing := repairArguments(previous.Arguments, readObjections(reason), ops)
	switch {
	case len(missing) > 0:
		return decision{text: d.say.ask(d.goal(), previous.Name, missing)}
	case arguments != "":
		return decision{call: &toolCall{previous.Name, arguments}}
	case routes.MatchString(fold(reason)) && !searched && d.hasTool(toolSearch):
		_, nouns := intentOf(d.text)
		return callDecision(toolSearch, map[string]string{"query": strings.Join(nouns, " ")})
	}
	return decision{text: d.say.refusal(reason)}
}

func callDecision(name string, arguments any) decision {
	return decision{call: &toolCall{name, string(encode(arguments))}}
}
