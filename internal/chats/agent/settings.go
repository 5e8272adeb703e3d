package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/visible"
	"piloto/internal/tools/tool"
)

// Errors of invalid settings. Fields has the locations.
var (
	ErrSettings     = fault.New(fault.Invalid, "router.settings_invalid")
	ErrUnknownAgent = fault.New(fault.Invalid, "router.agent_unknown") // Args["agents"]: the existing agents
)

// Bounds of settings.
const (
	maxAllowed = 50 // agents that are named
	maxNames   = 20 // agents in an error
)

// Settings holds an account's settings of its router, for all of its companies or for one of
// them. The zero value sets nothing.
type Settings struct {
	Agents     []string          `json:"agents"`      // that may be delegated to; nil: all servers, and the loops that have keywords; empty: none
	ContextURL string            `json:"context_url"` // where the business context is asked for
	Context    string            `json:"context"`     // the business context itself, instead of a URL
	Prompts    map[string]string `json:"prompts"`     // replacements for the prompt's own texts, by section
	UpdatedAt  time.Time         `json:"updated_at"`
}

// Merge returns the settings that apply to a company: its own settings override those of the
// account, member by member and section by section. Context and ContextURL count as one member.
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

// SettingsStore stores settings by account and company; company 0 holds the account's settings
// for all.
type SettingsStore interface {
	RouterLayers(ctx context.Context, account ids.Account, company int64) (wide, own Settings, err error)
	PutRouterSettings(ctx context.Context, account ids.Account, company int64, s Settings) error
	DeleteRouterSettings(ctx context.Context, account ids.Account, company int64) error
	RouterCompanies(ctx context.Context, account ids.Account, cursor string, limit int) (companies []int64, next string, err error)
}

// Lister lists that of which an account's agents are made.
type Lister interface {
	tool.ServerLister
	AgentChanges(ctx context.Context, account ids.Account) ([]Change, error)
}

// Manager changes the router settings of accounts. Addresses checks a URL against the policy: it
// returns the canonical address or an error.
type Manager struct {
	Store     SettingsStore
	Agents    Lister
	Addresses func(url string) (string, error)
	Now       func() time.Time
}

// Settings returns a company's own settings, and the settings that apply to it. For company 0
// both are the account's settings for all.
func (m *Manager) Settings(ctx context.Context, account ids.Account, company int64) (own, inForce Settings, err error) {
	wide, own, err := m.Store.RouterLayers(ctx, account, company)
	if company == 0 {
		own = wide
	}
	return own, Merge(wide, own), err
}

// PutSettings replaces a company's own settings, or the account's settings for all when company
// is 0. It returns ErrSettings, ErrUnknownAgent or the URL's error, each with every field error.
func (m *Manager) PutSettings(ctx context.Context, account ids.Account, company int64, s Settings) (own, inForce Settings, err error) {
	servers, err := m.Agents.Servers(ctx, account)
	if err != nil {
		return own, inForce, err
	}
	changes, err := m.Agents.AgentChanges(ctx, account)
	if err != nil {
		return own, inForce, err
	}
	if s, err = m.validate(s, agentsOf(servers, changes)); err != nil {
		return own, inForce, err
	}
	s.UpdatedAt = m.Now()
	if err := m.Store.PutRouterSettings(ctx, account, company, s); err != nil {
		return own, inForce, err
	}
	return m.Settings(ctx, account, company)
}

// DeleteSettings deletes a company's own settings, or the account's settings for all when
// company is 0.
func (m *Manager) DeleteSettings(ctx context.Context, account ids.Account, company int64) error {
	return m.Store.DeleteRouterSettings(ctx, account, company)
}

// Companies lists the companies with own settings, by number, and a cursor when there are more.
func (m *Manager) Companies(ctx context.Context, account ids.Account, cursor string, limit int) ([]int64, string, error) {
	return m.Store.RouterCompanies(ctx, account, cursor, limit)
}

// agentsOf returns the names of the agents of an account, of both kinds.
func agentsOf(servers []tool.Server, changes []Change) []string {
	var names []string
	for _, server := range servers {
		if server.IsAgent() {
			names = append(names, server.Name)
		}
	}
	for _, c := range withShipped(changes) {
		if c.ServerID == "" {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// validate returns settings in the stored form, or an error with every field error. names are those of the agents.
func (m *Manager) validate(s Settings, names []string) (Settings, error) {
	agents, wrong := validateAgents(s.Agents, names)
	unknown := slices.ContainsFunc(wrong, func(f fault.Field) bool { return f.Type == "unknown_agent" })
	s.Agents = agents
	wrong = append(wrong, s.validateContext()...)
	wrong = append(wrong, validatePrompts(s.Prompts)...)
	var address *fault.Error
	if s.ContextURL != "" {
		base, err := m.Addresses(s.ContextURL)
		switch {
		case err == nil:
			s.ContextURL = base
		case errors.As(err, &address) && address.Kind == fault.Invalid:
			wrong = append(wrong, fieldError("value_error", "context_url"))
		default:
			return s, err
		}
	}
	switch {
	case len(wrong) == 0:
		s.Context = BusinessText(strings.TrimSpace(s.Context))
		return s, nil
	case unknown:
		return s, ErrUnknownAgent.With("agents", nameList(names)).At(wrong...)
	case address != nil && len(wrong) == 1:
		return s, address.At(wrong...)
	}
	return s, ErrSettings.At(wrong...)
}

// fieldError returns a field error. Its type selects the sentence.
func fieldError(typ string, loc ...any) fault.Field {
	return fault.Field{Loc: append([]any{"body"}, loc...), Type: typ}
}

// validateAgents returns the names as they were registered, and the field errors.
func validateAgents(asked, names []string) ([]string, []fault.Field) {
	if len(asked) > maxAllowed {
		return asked, []fault.Field{fieldError("too_long", "agents")}
	}
	var wrong []fault.Field
	agents := slices.Clone(asked)
	for i, name := range agents {
		at := slices.IndexFunc(names, func(have string) bool { return strings.EqualFold(have, strings.TrimSpace(name)) })
		if at < 0 {
			wrong = append(wrong, fieldError("unknown_agent", "agents", i))
			continue
		}
		if slices.Contains(agents[:i], names[at]) {
			wrong = append(wrong, fieldError("duplicate", "agents", i))
		}
		agents[i] = names[at]
	}
	return agents, wrong
}

// nameList formats names for a person, with their number when the list is cut.
func nameList(names []string) string {
	switch {
	case len(names) == 0:
		return "—"
	case len(names) > maxNames:
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf("… (%d)", len(names))
	}
	return strings.Join(names, ", ")
}

func (s Settings) validateContext() []fault.Field {
	switch {
	case s.Context == "":
	case s.ContextURL != "":
		return []fault.Field{fieldError("one_of_two", "context")}
	case visible.Blank(cleanText(s.Context)):
		return []fault.Field{fieldError("string_too_short", "context")}
	case len(s.Context) > clip.Instructions:
		return []fault.Field{fault.TooLong(s.Context, clip.Instructions, "body", "context")}
	}
	return nil
}

// validatePrompts returns the field errors of the texts.
func validatePrompts(prompts map[string]string) []fault.Field {
	if len(prompts) > 2*len(Sections) {
		return []fault.Field{fieldError("too_long", "prompts")}
	}
	var wrong []fault.Field
	all := ""
	for _, section := range slices.Sorted(maps.Keys(prompts)) {
		text := prompts[section]
		all += text
		switch {
		case section == SectionFormat || !slices.Contains(Sections, section):
			wrong = append(wrong, fieldError("unknown_section", "prompts", section))
		case visible.Blank(cleanText(text)):
			wrong = append(wrong, fieldError("string_too_short", "prompts", section))
		case len(text) > clip.Instructions:
			wrong = append(wrong, fault.TooLong(text, clip.Instructions, "body", "prompts", section))
		}
	}
	if len(all) > clip.Instructions && len(wrong) == 0 {
		together := fault.TooLong(all, clip.Instructions, "body", "prompts")
		together.Type = "too_long"
		wrong = append(wrong, together)
	}
	return wrong
}
