package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"piloto/internal/chats/intent"
	"piloto/internal/ground/meaning"
)

// decision is a complete answer: text, or a call of a tool when tool is set.
type decision struct{ text, tool, arguments string }

func callDecision(tool string, arguments any) decision {
	return decision{tool: tool, arguments: string(encode(arguments))}
}

// dialogue holds the parts of a request that the rules read.
type dialogue struct {
	system  string
	state   string                         // the last system message before the person's last message: what is true of this turn
	text    string                         // the person's request, with earlier parts of the same request
	history []openai.ChatCompletionMessage // what was said, and the messages after the person's last message
	tail    []openai.ChatCompletionMessage // messages after the person's last message
	calls   []madeCall                     // of the transcript, the oldest first
	tools   []string                       // names that may be called
	today   time.Time
	speech  speech
}

// The tools that the model calls; toolRevise is offered while a plan waits.
const (
	toolRequest = "mcp_request"
	toolPlan    = "propose_plan"
	toolRevise  = "revise_plan"
	toolLook    = "look"
)

func newDialogue(messages []openai.ChatCompletionMessage, tools []string, today time.Time) dialogue {
	d := dialogue{tools: tools, today: today}
	last, asked := -1, 0
	for i, m := range messages {
		if m.Role == "user" {
			asked = i
		}
	}
	for i, m := range messages {
		if m.Role == "system" || m.Role == "developer" {
			d.system += textOf(m) + "\n"
			if i <= asked {
				d.state = textOf(m)
			}
		}
	}
	d.speech.en = inEnglish(openingOf(d.system), false)
	if all := clientLine.FindAllStringSubmatch(d.system, -1); len(all) > 0 { // a later state says only what changed
		d.speech.en = all[len(all)-1][1] == "English"
	}
	for i, m := range messages {
		switch {
		case m.Role == "system" || m.Role == "developer":
			continue
		case m.Role == "user":
			last = len(d.history)
			d.speech.en = inEnglish(textOf(m), d.speech.en)
		case m.Role == "tool":
			d.answered(m, i > asked)
		}
		for _, c := range m.ToolCalls {
			d.calls = append(d.calls, madeCall{id: c.ID, tool: c.Function.Name, arguments: c.Function.Arguments})
		}
		if i >= asked || m.Role == "user" || m.Role == "assistant" && textOf(m) != "" {
			d.history = append(d.history, m)
		}
	}
	if last >= 0 {
		d.text, d.tail = d.mergedRequest(last), d.history[last+1:]
	}
	return d
}

// clientLine says in the states of turns which language the person's client has.
var clientLine = regexp.MustCompile(`(?i)language(?: of the person)?: (English|Spanish)`)

// openingOf returns the first line of a prompt. That of a router is in the language of the person's client, and it has nobody
// else's words.
func openingOf(system string) string {
	opening, _, _ := strings.Cut(strings.TrimSpace(system), "\n")
	return opening
}

// textOf returns the content of a message, which is a string or a list of text parts.
func textOf(m openai.ChatCompletionMessage) string {
	text := m.Content
	for _, part := range m.MultiContent {
		text += part.Text
	}
	return text
}

// mergedRequest returns the message at i together with the request that it completes. A message
// completes a request when it answers a question and starts no request of its own.
func (d dialogue) mergedRequest(i int) string {
	text := textOf(d.history[i])
	if i < 2 || d.history[i-1].Role != "assistant" || d.history[i-2].Role != "user" {
		return text
	}
	asked := askText.FindStringSubmatch(textOf(d.history[i-1]))
	v := readValues(text, nil, d.today)
	kind, _ := readIntent(v.rest)
	if asked == nil || kind != "" || intent.Classify(text) != intent.Other || greeting.MatchString(fold(text)) {
		return text
	}
	bare := strings.Trim(strings.TrimSpace(text), ".!")
	if !strings.Contains(asked[1], ",") && len(strings.Fields(bare)) == 1 && len(v.named) == 0 && v.date+v.start == "" {
		text = cmp.Or(map[string]string{"start": "a las ", "people": "para "}[roleOf(asked[1])], asked[1]+"=") + bare
	}
	return d.mergedRequest(i-2) + " , " + text
}

var (
	greeting           = regexp.MustCompile(`^\W*(?:hola|buenas|buenos dias|buenas tardes|buenas noches|hello|hi|hey|good morning|good afternoon|good evening)(?:[\s,.!?¿¡]+(?:piloto|a todos|there|que tal|como estas|how are you))*[\s,.!?¿]*$`)
	thanking           = regexp.MustCompile(`^\W*(?:muchas )?(?:gracias|thanks|thank you)(?: (?:a lot|so much|very much|piloto|por todo|por la ayuda|a ti))?\W*$`)
	helping            = regexp.MustCompile(`(?:que (?:puedes|sabes) hacer|^\W*ayuda\W*$|^\W*help\W*$|what can you do|quien eres|who are you|que eres|como funciona|how do(?:es)? (?:you|this|it) work)`)
	literal            = regexp.MustCompile(`\b(GET|POST|PUT|PATCH|DELETE)\s+(/[^\s?]*)`)
	escapedPlaceholder = regexp.MustCompile(`\\\{[^{}]+\\\}`)
	// A part of a message that names one more thing: «… y la sala sur», «… y otra», «…, r-2».
	another = regexp.MustCompile(`(?i)(?:\s*[,;]|\s+(?:y|and))\s+(?:(?:la|el|the|en|in)\s+)*(?:(?:salas?|rooms?|reservas?|reservations?)\s+)?` +
		`(?:(?:otr[ao]|another|este|east)(?:\s+(?:sala|room|reserva|y|and|para|for|a|at|el|on|de|from|ma\pL+na|hoy|tomorrow|today)\b|\s*(?:[,;.!]|$))` +
		`|(?:norte|north|sur|south|oeste|west|auditori\pL+|cabina|booth|[a-z]{1,6}-\d+)\b)`)
)

// decide answers the dialogue without a restriction on tools.
func (d dialogue) decide() decision {
	if lines := textBetween(d.text, "<conversation>\n", "\n</conversation>"); lines != "" {
		return d.summarise(lines)
	}
	ops := readCatalogue(d.system)
	if len(d.tail) > 0 && d.tail[len(d.tail)-1].Role == "tool" {
		return d.report(ops, textOf(d.tail[len(d.tail)-1]))
	}
	folded := fold(d.text)
	switch {
	case greeting.MatchString(folded), strings.TrimSpace(d.text) == "", helping.MatchString(folded):
		return decision{text: d.speech.say("greet", d.speech.abilities(ops))}
	case thanking.MatchString(folded):
		return decision{text: d.speech.say("thanks")}
	case intent.Classify(d.text) != intent.Other:
		return decision{text: d.speech.say("nothing_pending")}
	}
	if kind, _ := readIntent(d.text); kind == undoes {
		return decision{text: d.speech.say("undo")}
	}
	if change, ok := d.revise(ops); ok {
		return change
	}
	return d.act(ops)
}

// report tells the result of a call: the draft that it made, the outcome of its plan, the data that was read, or the reason of its refusal. After a read
// for something that writes, it goes on.
func (d dialogue) report(ops []operation, result string) decision {
	var made struct {
		Run string `json:"run_id"`
	}
	var ended endedRun // the plan of a job
	if json.Unmarshal([]byte(result), &ended) == nil && ended.Goal != "" && ended.Status != "" {
		return decision{text: d.speech.conclude(ended)}
	}
	if json.Unmarshal([]byte(result), &made) == nil && made.Run != "" {
		return decision{text: d.speech.say("draft_ready")}
	}
	read, ok := d.lastRead(ops)
	if !ok {
		return decision{text: d.speech.refusal(result)}
	}
	answer := read.Answer
	rows, isList := rowsOf(answer)
	if meaning.Of(read.Status, false) == meaning.Done && (len(rows) > 0 || !isList && len(membersOf(answer)) > 0) {
		if change, ok := d.revise(ops); ok {
			return change
		}
		w := d.wish(ops, d.know(ops))
		if w.found && w.op.Method != "GET" {
			return d.act(ops)
		}
		one := thingOf("", answer)
		if said := one.about(w.facts(ops)); !isList && one.title() != "" && len(said) > 0 {
			return decision{text: d.fact(one, said)}
		}
	}
	return decision{text: d.tell(read)}
}

// act finds the operation that the person means and calls a tool for it, asks, or answers from memory.
func (d dialogue) act(ops []operation) decision {
	k := d.know(ops)
	w := d.wish(ops, k)
	if text, ok := d.recall(ops, k, w); ok {
		return decision{text: text}
	}
	if !w.found {
		return decision{text: d.speech.say("unknown", d.speech.abilities(ops))}
	}
	n, needs := d.needOf(k, w.op)
	if needs && n.known {
		w.parts = d.complete(n, w)
	}
	var steps []planStep
	for _, part := range w.parts {
		more, missing := part.steps(ops, w.op, len(steps)+1)
		if len(missing) > 0 {
			return decision{text: d.speech.ask(w.op, missing)}
		}
		steps = append(steps, more...)
	}
	return d.call(ops, w, steps)
}

// call calls the tool for some steps. A read-only call is made at once, also before a step that writes; but not when
// several things are needed at different times.
func (d dialogue) call(ops []operation, w wish, steps []planStep) decision {
	first := steps[0]
	looks := slices.Contains(d.tools, toolLook) && slices.ContainsFunc(ops, func(op operation) bool {
		return op.Look && op.Server == first.Server && op.Path == first.Path && first.Method == "GET"
	})
	sameTime := !slices.ContainsFunc(w.parts, func(v values) bool { return v.date+v.start != w.parts[0].date+w.parts[0].start })
	once, isForeign := d.again(ops, steps)
	switch {
	case looks && sameTime && len(d.tail) == 0, len(steps) == 1 && w.op.Look && slices.Contains(d.tools, toolLook):
		return callDecision(toolLook, look{first.Server, first.Path, first.Query})
	case w.op.Method != "GET" && isForeign:
		return callDecision(toolLook, once)
	case len(steps) == 1 && slices.Contains(d.tools, toolRequest):
		return callDecision(toolRequest, first.mcpRequest)
	case slices.Contains(d.tools, toolPlan):
		return callDecision(toolPlan, planProposal{d.goal(), steps})
	}
	return decision{text: d.speech.about("no_tool", w.op)}
}

// parts returns the values of a message, one for each thing that it names: «la sala norte a las 10 y
// la sala sur a las 12». A part has the values of its neighbours for those that it lacks.
func (d dialogue) parts(ops []operation) []values {
	names := map[string]bool{}
	for _, op := range ops {
		for _, p := range op.parameters() {
			names[fold(p.Name)], names[nameKey(p.Name)] = true, true
		}
	}
	var out []values
	from := 0
	for _, at := range append(another.FindAllStringIndex(d.text, -1), []int{len(d.text)}) {
		out = append(out, readValues(d.text[from:at[0]], names, d.today))
		from = at[0]
	}
	if first := out[0]; len(out) > 1 && len(first.rooms)+len(first.ids) == 0 && first.start == "" { // «mañana, norte y sur»
		out[1] = out[1].or(first)
		out[1].rest = first.rest + out[1].rest
		out = out[1:]
	}
	for i := range out {
		for j := i - 1; j >= 0; j-- {
			out[i] = out[i].or(out[j])
		}
		for _, later := range out[i+1:] {
			out[i] = out[i].or(later)
		}
	}
	return out
}

// goal returns the person's own request, on one line of at most 120 characters.
func (d dialogue) goal() string {
	text := []rune(strings.Join(strings.Fields(strings.ReplaceAll(d.text, " , ", ", ")), " "))
	return string(text[:min(len(text), 120)])
}

// findLiteral finds the operation of a message such as «GET /rooms/norte», and adds the values of
// its path.
func findLiteral(ops []operation, text string, v *values) (operation, bool) {
	m := literal.FindStringSubmatch(text)
	for _, op := range ops {
		if m == nil || op.Method != m[1] {
			continue
		}
		if found := op.pattern().FindStringSubmatch(strings.TrimRight(m[2], ".,;!")); found != nil {
			for i, p := range op.placeholders() {
				v.named[fold(p.Name)] = found[i+1]
			}
			return op, true
		}
	}
	return operation{}, false
}

// draft is the plan that waits. It keeps the other members of its steps.
type draft struct {
	Goal  string                       `json:"goal,omitempty"`
	Steps []map[string]json.RawMessage `json:"steps"`
}

// waiting returns the plan that waits: that of the state, else that of the call which proposed it; "": none does.
func (d dialogue) waiting() string {
	if raw := textBetween(d.state, "<draft>\n", "\n</draft>"); raw != "" || !strings.Contains(d.state, " waits: ") {
		return raw
	}
	for _, c := range slices.Backward(d.calls) {
		switch {
		case !strings.Contains(c.result, `"waits"`):
		case c.tool == toolRequest:
			var step map[string]json.RawMessage
			if json.Unmarshal([]byte(c.arguments), &step) != nil {
				return ""
			}
			step["id"] = encode("s1")
			return string(encode(draft{Steps: []map[string]json.RawMessage{step}}))
		case c.tool == toolPlan, c.tool == toolRevise:
			return c.arguments
		}
	}
	return ""
}

// revise changes the waiting plan: it sets the values of its steps that the message gives. It
// reports false when no plan waits, or when the message is about something else.
func (d dialogue) revise(ops []operation) (decision, bool) {
	raw := d.waiting()
	var p draft
	if !slices.Contains(d.tools, toolRevise) || json.Unmarshal([]byte(raw), &p) != nil {
		return decision{}, false
	}
	v := d.parts(ops)[0]
	kind, _ := readIntent(v.rest)
	_, nouns := readIntent(strings.Join(v.words, " "))
	elsewhere := slices.ContainsFunc(nouns, func(noun string) bool { return roleOf(noun) == "" }) // «el lunes» names values only
	if kind != updates && elsewhere || len(v.ids) > 0 && !strings.Contains(raw, v.ids[0]) {
		return decision{}, false
	}
	if k := d.know(ops); len(k.lists) > 0 { // «mejor la más barata»
		if row, _, ok := k.lists[0].pick(v.rest, v); ok && v.named[row.kind] == "" {
			v.named[row.kind] = row.text("id")
		}
	}
	changed := false
	p.Goal = d.speech.word(p.Goal)
	for _, step := range p.Steps {
		var title string
		if json.Unmarshal(step["title"], &title) == nil {
			step["title"] = encode(d.speech.word(title))
		}
		for _, part := range []string{"query", "body"} {
			if now, ok := v.revisedObject(step[part]); ok {
				step[part], changed = now, true
			}
		}
	}
	if once, isForeign := d.again(ops, p.Steps); isForeign && changed {
		return callDecision(toolLook, once), true
	}
	return callDecision(toolRevise, p), changed
}

// revisedObject returns an object with the values that the message gives. A reference to another
// step stays, unless the message names a room. A new start keeps the duration.
func (v values) revisedObject(raw json.RawMessage) (json.RawMessage, bool) {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return nil, false
	}
	changed := false
	start, _ := object["start"].(string)
	end, _ := object["end"].(string)
	if v.start != "" && v.end == "" && clock.MatchString(start) && clock.MatchString(end) {
		v.end = addMinutes(v.start, minutesOf(end)-minutesOf(start))
	}
	for name, was := range object {
		kind := "string"
		if _, ok := was.(float64); ok {
			kind = "number"
		}
		if now, ok := v.value(operation{}, parameter{Name: name, Type: kind}); ok && string(encode(now)) != string(encode(was)) {
			if reference, _ := was.(string); roleOf(name) == "id" || !strings.HasPrefix(reference, "${") {
				object[name], changed = now, true
			}
		}
	}
	return encode(object), changed
}

// summarise answers a request for a summary: it shortens each message of the person.
func (d dialogue) summarise(lines string) decision {
	const words, messages = 12, 12
	asked := ""
	if before := textBetween(d.text, "<summary>\n", "\n</summary>"); before != "" {
		asked = strings.TrimSuffix(before, ".") + "; "
	}
	count := 0
	for line := range strings.SplitSeq(lines, "\n") {
		var one struct{ Who, Text string }
		if json.Unmarshal([]byte(line), &one) != nil || one.Who != "user" || count == messages {
			continue
		}
		count++
		some := strings.Fields(one.Text)
		asked += "«" + strings.Join(some[:min(words, len(some))], " ") + "»; "
	}
	return decision{text: strings.TrimSuffix(asked, "; ") + "."}
}
