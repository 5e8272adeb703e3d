package agent

import (
	"maps"
	"time"
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
