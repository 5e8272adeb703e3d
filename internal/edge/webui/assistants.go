package webui

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
)

// assistantsView is who may answer, and who does.
type assistantsView struct {
	Facts       Facts
	Entitlement eligibility.Entitlement
	Providers   []providerRow
	Form        assistantForm
	Projects    []projectRow
	Admin       bool
}

// assistantView is the assistant of one project.
type assistantView struct {
	Facts     Facts
	Project   conversation.Project
	Form      assistantForm
	Providers []providerRow // their models are offered
	Admin     bool
}

// assistantForm is an assistant, to be changed.
type assistantForm struct {
	eligibility.Assistant
	Project   string // id; "" is the account's
	Own       bool   // it is set here, and not inherited
	None      bool   // there is none at all
	Fallback  []standIn
	Empty     standIn  // a row to be added
	Names     []string // of the providers
	Modes     []eligibility.Mode
	MaxDelay  float64 // seconds
	Admin     bool
	Providers []providerRow
}

// delay is how long it waits for a further message, in seconds.
func (f assistantForm) delay() float64 { return float64(f.Automation.DelayMS) / 1000 }

// standIn is one choice of the fallback order.
type standIn struct {
	eligibility.Choice
	Names []string
	Whys  []why
}

type why struct {
	Reason  eligibility.Reason
	Checked bool
}

// providerRow is a provider as the account has it. Its key is not in it.
type providerRow struct {
	Name    string
	Target  target
	BaseURL string // the account's own
	State   string // page.provider.STATE: demo, keyless, own, missing, deployment
	Own     *eligibility.Config
	Costs   bool // credits
	Charge  string
	Allowed bool // it is named among those that may be used
	Models  []modelRow
	Waiting time.Time // it asked to be left alone until then; zero when it did not
	Used    bool      // the account's assistant answers with it
}

// modelRow is a model with a price, in micro-USD per million tokens.
type modelRow struct {
	Name  string
	Price credit.Price
	Own   bool
}

// projectRow is a project and the assistant in force for it.
type projectRow struct {
	Project   conversation.Project
	Assistant eligibility.Assistant
	Own, None bool
}

func (s *site) assistantsFragment(w http.ResponseWriter, v visit) error {
	view, err := s.assistants(v.Context(), v)
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "assistants", view)
	return nil
}

func (s *site) assistantFragment(w http.ResponseWriter, v visit) error {
	view, err := s.assistant(v.Context(), v, v.PathValue("id"))
	if err != nil {
		return err
	}
	s.write(w, v, http.StatusOK, "assistant", view)
	return nil
}

func (s *site) assistants(ctx context.Context, v visit) (*assistantsView, error) {
	if s.Assistants == nil {
		return nil, errNotFound
	}
	view := &assistantsView{Admin: v.who.Allows(auth.ScopeAdmin)}
	var providers []eligibility.ProviderView
	var a eligibility.Assistant
	var ok bool
	var who answers
	err := together(
		func() (err error) { providers, err = s.Assistants.Providers(ctx, v.who.Account); return },
		func() (err error) { a, ok, err = s.Assistants.AssistantOf(ctx, v.who.Account, ""); return },
		func() (err error) { view.Entitlement, err = s.Assistants.Entitlement(ctx, v.who.Account); return },
		func() (err error) { view.Projects, err = s.assigned(ctx, v); return },
		func() (err error) { who, err = s.answers(ctx, v, ""); return },
	)
	if err != nil {
		return nil, err
	}
	view.Facts = who.Facts
	view.Providers = rowsOf(providers, view.Entitlement, a.Provider, v.now)
	view.Form = formOf(a, ok, "", view.Providers, view.Admin)
	return view, nil
}

func (s *site) assistant(ctx context.Context, v visit, projectID string) (*assistantView, error) {
	if s.Assistants == nil {
		return nil, errNotFound
	}
	p, err := s.Projects.Project(ctx, v.who.Account, projectID)
	if err != nil {
		return nil, err
	}
	providers, err := s.Assistants.Providers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	a, ok, err := s.Assistants.AssistantOf(ctx, v.who.Account, projectID)
	if err != nil {
		return nil, err
	}
	who, err := s.answers(ctx, v, projectID)
	if err != nil {
		return nil, err
	}
	view := &assistantView{Facts: who.Facts, Project: p, Admin: v.who.Allows(auth.ScopeAdmin)}
	view.Providers = rowsOf(providers, eligibility.Entitlement{}, a.Provider, v.now)
	view.Form = formOf(a, ok, projectID, view.Providers, view.Admin)
	return view, nil
}

// assigned reads the assistant in force for each project, at most eight at a time.
func (s *site) assigned(ctx context.Context, v visit) ([]projectRow, error) {
	projects, err := s.Projects.Projects(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	rows := make([]projectRow, len(projects))
	reads := make([]func() error, len(projects))
	slots := make(chan struct{}, plan.MaxParallel)
	for i, p := range projects {
		rows[i].Project = p
		reads[i] = func() error {
			slots <- struct{}{}
			defer func() { <-slots }()
			a, ok, err := s.Assistants.AssistantOf(ctx, v.who.Account, p.ID)
			rows[i].Assistant, rows[i].Own, rows[i].None = a, a.Scope == eligibility.ScopeProject, !ok
			return err
		}
	}
	return rows, together(reads...)
}

// formOf arranges an assistant to be changed; without one, what a new one begins as.
func formOf(a eligibility.Assistant, ok bool, project string, providers []providerRow, admin bool) assistantForm {
	scope := eligibility.ScopeAccount
	if project != "" {
		scope = eligibility.ScopeProject
	}
	if !ok {
		a = eligibility.Assistant{Active: true, Temperature: .2, MaxTokens: eligibility.DefaultMaxTokens}
		a.Automation.Mode = eligibility.Automatic
	}
	f := assistantForm{
		Assistant: a, Project: project, Own: ok && a.Scope == scope, None: !ok, Admin: admin, Providers: providers,
		Modes: []eligibility.Mode{eligibility.Automatic, eligibility.Manual, eligibility.Off}, MaxDelay: eligibility.MaxDelay.Seconds(),
	}
	for _, p := range providers {
		f.Names = append(f.Names, p.Name)
	}
	for _, c := range a.Fallback {
		f.Fallback = append(f.Fallback, standInOf(c, f.Names))
	}
	f.Empty = standInOf(eligibility.Choice{}, f.Names)
	return f
}

// standInOf ticks the reasons of a choice; all of them when it names none.
func standInOf(c eligibility.Choice, names []string) standIn {
	row := standIn{Choice: c, Names: names}
	for _, r := range eligibility.Swappable() {
		row.Whys = append(row.Whys, why{Reason: r, Checked: len(c.On) == 0 || slices.Contains(c.On, r)})
	}
	return row
}

// rowsOf arranges providers. Whether the deployment has a key of its own is not
// for the page to know: the script asks the API.
func rowsOf(providers []eligibility.ProviderView, e eligibility.Entitlement, used string, now time.Time) []providerRow {
	var rows []providerRow
	for _, p := range providers {
		row := providerRow{
			Name: p.Name, Target: targetOf(p.BaseURL), Own: p.Own, Costs: p.CostsCredits, Used: p.Name == used,
			Allowed: slices.Contains(e.Providers, p.Name), State: stateOf(p), Models: modelsOf(p),
		}
		if p.Own != nil {
			row.BaseURL = p.Own.BaseURL
			if p.Own.CostsCredits != nil {
				row.Charge = map[bool]string{true: "yes", false: "no"}[*p.Own.CostsCredits]
			}
		}
		if now.Before(p.Health.Waiting) {
			row.Waiting = p.Health.Waiting
		}
		rows = append(rows, row)
	}
	return rows
}

func stateOf(p eligibility.ProviderView) string {
	own := p.Own != nil && (p.Own.BaseURL != "" || p.Own.Keyless || p.Own.KeySet)
	switch {
	case p.Demo:
		return "demo"
	case p.OwnKey:
		return "own"
	case p.Keyless:
		return "keyless"
	case own:
		return "missing"
	}
	return "deployment"
}

// modelsOf lists the models of a provider that have a price, by name.
func modelsOf(p eligibility.ProviderView) []modelRow {
	prices := maps.Clone(eligibility.TablePrices(p.Name))
	if prices == nil {
		prices = map[string]credit.Price{}
	}
	maps.Copy(prices, p.Prices)
	var rows []modelRow
	for name, price := range prices {
		_, own := p.Prices[name]
		rows = append(rows, modelRow{Name: name, Price: price, Own: own})
	}
	slices.SortFunc(rows, func(a, b modelRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
