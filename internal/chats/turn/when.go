package turn

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no zones
	"unicode"

	"piloto/internal/access/auth"
	"piloto/internal/chats/toolcall"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/lazy"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// nameRunes is the most characters of a person's name, or of their session, in a prompt.
const nameRunes = 80

// told finds the zone in what a prompt said of a turn (now.tmpl).
var told = lazy.Pattern(`^Now: [^\n]*?:\d\d, ([A-Za-z0-9_+/-]+)`)

// zone returns the time zone of a turn: that of its request, else the one in which the chat was told the time last (a
// conclusion and a later round have no request), else that of the assistant, else UTC.
func zone(req Request, texts []llm.Message, assistant *eligibility.Assistant) *time.Location {
	names := []string{req.TimeZone}
	for _, m := range slices.Backward(texts) {
		if m.Role != llm.System {
			continue
		}
		if found := told().FindStringSubmatch(m.Content); found != nil {
			names = append(names, found[1])
			break
		}
	}
	if assistant != nil {
		names = append(names, assistant.TimeZone)
	}
	return firstZone(names...)
}

// firstZone returns the first zone that a name names; UTC when none does.
func firstZone(names ...string) *time.Location {
	for _, name := range names {
		if zone, err := time.LoadLocation(name); name != "" && err == nil && zone != time.Local {
			return zone
		}
	}
	return time.UTC
}

// who says who writes, and in which language. It is data: no name can end a line, a quote or a tag.
func (l *loop) who() string {
	language := locale.ModelText("prompt.language." + string(l.req.Locale))
	customer, session := "", ""
	switch r := l.req; {
	case r.Route != nil:
		customer, session = r.Route.Customer, l.chat.SessionID
		language = cmp.Or(quotable(r.Route.Persona.Language), language)
	case r.Session != nil:
		customer, session = cmp.Or(r.Session.Customer, text(r.Session.Metadata["customer_name"])), l.chat.SessionID
	default:
		if name := personName(r.Principal); name != "" {
			return locale.ModelText("prompt.person", "name", name, "language", language)
		}
		return locale.ModelText("prompt.someone", "language", language)
	}
	if customer = cmp.Or(quotable(customer), named(l.past.Texts)); customer == "" {
		return locale.ModelText("prompt.stranger", "session", quotable(session), "language", language)
	}
	return locale.ModelText("prompt.client", "name", customer, "session", quotable(session), "language", language)
}

// toldName finds the name of a customer in what a prompt said of a turn (prompt.client).
var toldName = lazy.Pattern(`^Now: [^\n]*A customer writes: “([^”\n]+)”, session `)

// named returns the name by which the customer of a chat was told last; "": nobody told it.
func named(texts []llm.Message) string {
	for _, m := range slices.Backward(texts) {
		if found := toldName().FindStringSubmatch(m.Content); m.Role == llm.System && found != nil {
			return found[1]
		}
	}
	return ""
}

// personName returns the name of the user of a token, if it is one: not that of a machine, an id or an address.
func personName(p auth.Principal) string {
	isName := strings.ContainsFunc(p.User, unicode.IsLetter) && !strings.ContainsFunc(p.User, func(r rune) bool {
		return unicode.IsDigit(r) || strings.ContainsRune("@/:_", r)
	})
	if p.User == "local" || ids.Valid(p.User) || !isName {
		return ""
	}
	return quotable(p.User)
}

// quotable returns a name as it stands between quotes in a prompt.
func quotable(name string) string {
	return toolcall.Line(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Quotation_Mark) && r != '\'' && r != '’' {
			return -1
		}
		return r
	}, name), nameRunes)
}

// text returns a JSON text; "" for any other value.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
