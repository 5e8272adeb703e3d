package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"piloto/internal/ground/fault"
	"piloto/internal/tools/tool"
)

// What can be wrong with settings; Fields says where.
var (
	ErrSettings     = fault.New(fault.Invalid, "router.settings_invalid")
	ErrUnknownAgent = fault.New(fault.Invalid, "router.agent_unknown") // Args["agents"]: those there are
)

// Bounds of what is set.
const (
	maxSection  = 4000     // characters of one section
	maxSections = 12 << 10 // bytes of all of them: the rest of a prompt needs room
	maxAllowed  = 50       // agents that are named
	namesTold   = 20       // of those there are
)

// Settings are what an account sets of its router, for all of its companies or
// for one of them. The zero value sets nothing.
type Settings struct {
	Agents     []string          `json:"agents"`      // that may be delegated to; nil: all, empty: none
	ContextURL string            `json:"context_url"` // where the business context is asked for
	Context    string            `json:"context"`     // the business context itself, instead of a URL
	Prompts    map[string]string `json:"prompts"`     // texts in place of the prompt's own, by section
	UpdatedAt  time.Time         `json:"updated_at"`
}

// Merge returns what is in force for a company: what it sets itself comes before
// what the account sets, member by member and section by section. A context is one
// member, however it is given.
func Merge(account, company Settings) Settings {
	merged := account
	if company.Agents != nil {
		merged.Agents = company.Agents
	}
	if company.ContextURL != "" || company.Context != "" {
		merged.ContextURL, merged.Context = company.ContextURL, company.Context
	}
	if len(company.Prompts) > 0 {
		merged.Prompts = maps.Clone(account.Prompts)
		if merged.Prompts == nil {
			merged.Prompts = map[string]string{}
		}
		maps.Copy(merged.Prompts, company.Prompts)
	}
	if company.UpdatedAt.After(merged.UpdatedAt) {
		merged.UpdatedAt = company.UpdatedAt
	}
	return merged
}

// SettingsStore keeps settings by account and company; company 0 is the account's
// own. Servers are the account's, agents among them.
type SettingsStore interface {
	RouterLayers(ctx context.Context, account string, company int64) (wide, own Settings, err error)
	PutRouterSettings(ctx context.Context, account string, company int64, s Settings) error
	DeleteRouterSettings(ctx context.Context, account string, company int64) error
	RouterCompanies(ctx context.Context, account, cursor string, limit int) (companies []int64, next string, err error)
	Servers(ctx context.Context, account string) ([]tool.Server, error)
}

// Manager changes what accounts set of their routers. Addresses is the policy that
// a URL must pass: it returns the address in its one form, or what is wrong with it.
type Manager struct {
	Store     SettingsStore
	Addresses func(url string) (string, error)
	Now       func() time.Time
}

// Settings returns what a company sets itself, and what is in force for it. For
// company 0 both are what the account sets for all.
func (m *Manager) Settings(ctx context.Context, account string, company int64) (own, inForce Settings, err error) {
	wide, own, err := m.Store.RouterLayers(ctx, account, company)
	if company == 0 {
		own = wide
	}
	return own, Merge(wide, own), err
}

// PutSettings sets what a company sets itself, whole, or what the account sets for
// all when company is 0. It returns ErrSettings, ErrUnknownAgent or what is wrong
// with the URL, each with all that is wrong.
func (m *Manager) PutSettings(ctx context.Context, account string, company int64, s Settings) (own, inForce Settings, err error) {
	servers, err := m.Store.Servers(ctx, account)
	if err != nil {
		return own, inForce, err
	}
	if s, err = m.valid(s, servers); err != nil {
		return own, inForce, err
	}
	s.UpdatedAt = m.Now()
	if err := m.Store.PutRouterSettings(ctx, account, company, s); err != nil {
		return own, inForce, err
	}
	return m.Settings(ctx, account, company)
}

// DeleteSettings goes back to what the account sets for all, or to nothing.
func (m *Manager) DeleteSettings(ctx context.Context, account string, company int64) error {
	return m.Store.DeleteRouterSettings(ctx, account, company)
}

// Companies lists the companies that set something themselves, by number, and a
// cursor when there are more.
func (m *Manager) Companies(ctx context.Context, account, cursor string, limit int) ([]int64, string, error) {
	return m.Store.RouterCompanies(ctx, account, cursor, limit)
}

// valid returns settings in the form in which they are kept, or all that is wrong
// with them.
func (m *Manager) valid(s Settings, servers []tool.Server) (Settings, error) {
	var names []string
	for _, server := range servers {
		if server.IsAgent() {
			names = append(names, server.Name)
		}
	}
	slices.Sort(names)
	agents, wrong := validAgents(s.Agents, names)
	unknown := slices.ContainsFunc(wrong, func(f fault.Field) bool { return f.Type == "unknown_agent" })
	s.Agents = agents
	wrong = append(wrong, s.validContext()...)
	wrong = append(wrong, validPrompts(s.Prompts)...)
	var address *fault.Error
	if s.ContextURL != "" {
		base, err := m.Addresses(s.ContextURL)
		switch {
		case err == nil:
			s.ContextURL = base
		case errors.As(err, &address) && address.Kind == fault.Invalid:
			wrong = append(wrong, wrongAt("value_error", "context_url"))
		default:
			return s, err
		}
	}
	switch {
	case len(wrong) == 0:
		s.Context = BusinessText(strings.TrimSpace(s.Context))
		return s, nil
	case unknown:
		return s, ErrUnknownAgent.With("agents", told(names)).At(wrong...)
	case address != nil && len(wrong) == 1:
		return s, address.At(wrong...)
	}
	return s, ErrSettings.At(wrong...)
}

// wrongAt is a field error whose sentence is that of its type.
func wrongAt(typ string, place ...any) fault.Field {
	return fault.Field{Loc: append([]any{"body"}, place...), Type: typ}
}

// validAgents returns the names as they were registered.
func validAgents(asked, names []string) ([]string, []fault.Field) {
	if len(asked) > maxAllowed {
		return asked, []fault.Field{wrongAt("too_long", "agents")}
	}
	var wrong []fault.Field
	agents := slices.Clone(asked)
	for i, name := range agents {
		at := slices.IndexFunc(names, func(have string) bool { return strings.EqualFold(have, strings.TrimSpace(name)) })
		if at < 0 {
			wrong = append(wrong, wrongAt("unknown_agent", "agents", i))
			continue
		}
		if slices.Contains(agents[:i], names[at]) {
			wrong = append(wrong, wrongAt("duplicate", "agents", i))
		}
		agents[i] = names[at]
	}
	return agents, wrong
}

// told lists names for a person, and says when there are more.
func told(names []string) string {
	switch {
	case len(names) == 0:
		return "—"
	case len(names) > namesTold:
		return strings.Join(names[:namesTold], ", ") + fmt.Sprintf("… (%d)", len(names))
	}
	return strings.Join(names, ", ")
}

func (s Settings) validContext() []fault.Field {
	switch {
	case s.Context == "":
	case s.ContextURL != "":
		return []fault.Field{wrongAt("one_of_two", "context")}
	case strings.TrimSpace(legible(s.Context)) == "":
		return []fault.Field{wrongAt("string_too_short", "context")}
	case len(s.Context) > MaxBusiness:
		return []fault.Field{wrongAt("string_too_long", "context")}
	}
	return nil
}

// validPrompts holds texts to the sections that may be told otherwise.
func validPrompts(prompts map[string]string) []fault.Field {
	if len(prompts) > 2*len(Sections) {
		return []fault.Field{wrongAt("too_long", "prompts")}
	}
	var wrong []fault.Field
	size := 0
	for _, section := range slices.Sorted(maps.Keys(prompts)) {
		text := prompts[section]
		size += len(text)
		switch {
		case section == SectionFormat || !slices.Contains(Sections, section):
			wrong = append(wrong, wrongAt("unknown_section", "prompts", section))
		case strings.TrimSpace(legible(text)) == "":
			wrong = append(wrong, wrongAt("string_too_short", "prompts", section))
		case utf8.RuneCountInString(text) > maxSection:
			wrong = append(wrong, wrongAt("string_too_long", "prompts", section))
		}
	}
	if size > maxSections && len(wrong) == 0 {
		wrong = append(wrong, wrongAt("too_long", "prompts"))
	}
	return wrong
}
