package webui

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
)

// assistantsView is the account's providers and assistants.
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
	Providers []providerRow // for the list of their models
	Admin     bool
}

// assistantForm is the form of an assistant.
type assistantForm struct {
	eligibility.Assistant
	Project   string // id; "" for the account
	Own       bool   // set at this level, not inherited
	None      bool   // there is no assistant
	Fallback  []standIn
	Empty     standIn  // template for a new row
	Names     []string // names of the providers
	Modes     []eligibility.Mode
	MaxDelay  float64 // seconds
	Admin     bool
	Providers []providerRow
}

// delay returns the assistant's delay in seconds.
func (f assistantForm) delay() float64 { return float64(f.Automation.DelayMS) / 1000 }

// standIn is one row of the fallback order.
type standIn struct {
	eligibility.Choice
	Names []string
	Whys  []why
}

type why struct {
	Reason  eligibility.Reason
	Checked bool
}

// providerRow is a provider with the account's settings, without its key.
type providerRow struct {
	Name    string
	Target  target
	BaseURL string // the account's own address
	State   string // page.provider.STATE: demo, keyless, own, missing, deployment
	Own     *eligibility.Config
	Costs   bool // it costs credits
	Charge  string
	Allowed bool // the entitlement names it
	Models  []modelRow
	Windows []windowRow // the account's own
	Waiting time.Time   // the provider asked for no call before; zero: none
	Used    bool        // the account's assistant uses it
	Check   *checkView
	Checked string // the model that a check calls when nobody names another
	Learned []lessonView
}

// checkView is the last check of a provider. Note is why it failed, and Do what to do then.
type checkView struct {
	Check    eligibility.Check
	Note, Do string
	Findings []string
}

// lessonView is what calls at work showed of a model.
type lessonView struct {
	eligibility.Lesson
	Findings []string
}

// modelRow is a model with its price, in micro-USD per million tokens.
type modelRow struct {
	Name  string
	Price credit.Price
	Own   bool
	Key   string // of the sentence that tells the price
}

// windowRow is a model with its context window.
type windowRow struct {
	Name   string
	Tokens int
}

// projectRow is a project with the assistant in force for it.
type projectRow struct {
	Project   conversation.Project
	Assistant eligibility.Assistant
	Own, None bool
}

// assistantReader reads the views of assistants.
type assistantReader struct {
	settings eligibility.SettingsReader
	projects Projects
	answers  responders
}

func (r assistantReader) all(ctx context.Context, v visit) (*assistantsView, error) {
	if r.settings == nil {
		return nil, errNotFound
	}
	view := &assistantsView{Admin: v.who.Allows(auth.ScopeAdmin)}
	var providers []eligibility.ProviderView
	var a eligibility.Assistant
	var ok bool
	var who responder
	err := runAll(
		func() (err error) { providers, err = r.settings.Providers(ctx, v.who.Account); return },
		func() (err error) { a, ok, err = r.settings.AssistantOf(ctx, v.who.Account, ""); return },
		func() (err error) { view.Entitlement, err = r.settings.Entitlement(ctx, v.who.Account); return },
		func() (err error) { view.Projects, err = r.projectRows(ctx, v); return },
		func() (err error) { who, err = r.answers.of(ctx, v, ""); return },
	)
	if err != nil {
		return nil, err
	}
	view.Facts = who.Facts
	view.Providers = rowsOf(providers, view.Entitlement, a, v)
	view.Form = formOf(a, ok, "", view.Providers, view.Admin)
	return view, nil
}

func (r assistantReader) one(ctx context.Context, v visit, projectID string) (*assistantView, error) {
	if r.settings == nil {
		return nil, errNotFound
	}
	p, err := r.projects.Project(ctx, v.who.Account, projectID)
	if err != nil {
		return nil, err
	}
	providers, err := r.settings.Providers(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	a, ok, err := r.settings.AssistantOf(ctx, v.who.Account, projectID)
	if err != nil {
		return nil, err
	}
	who, err := r.answers.of(ctx, v, projectID)
	if err != nil {
		return nil, err
	}
	view := &assistantView{Facts: who.Facts, Project: p, Admin: v.who.Allows(auth.ScopeAdmin)}
	view.Providers = rowsOf(providers, eligibility.Entitlement{}, a, v)
	view.Form = formOf(a, ok, projectID, view.Providers, view.Admin)
	return view, nil
}

// projectRows reads the assistant in force for each project.
func (r assistantReader) projectRows(ctx context.Context, v visit) ([]projectRow, error) {
	projects, err := r.projects.Projects(ctx, v.who.Account)
	if err != nil {
		return nil, err
	}
	rows := make([]projectRow, len(projects))
	reads := make([]func() error, len(projects))
	for i, p := range projects {
		rows[i].Project = p
		reads[i] = func() error {
			a, ok, err := r.settings.AssistantOf(ctx, v.who.Account, p.ID)
			rows[i].Assistant, rows[i].Own, rows[i].None = a, a.Scope == eligibility.ScopeProject, !ok
			return err
		}
	}
	return rows, runAll(reads...)
}

// formOf returns the form of an assistant, with defaults when there is none.
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

// standInOf checks the reasons of a choice; all of them when it names none.
func standInOf(c eligibility.Choice, names []string) standIn {
	row := standIn{Choice: c, Names: names}
	for _, r := range eligibility.Swappable() {
		row.Whys = append(row.Whys, why{Reason: r, Checked: len(c.On) == 0 || slices.Contains(c.On, r)})
	}
	return row
}

// rowsOf returns the rows of providers. The page does not know whether the deployment has a key: the script asks
// the API.
func rowsOf(providers []eligibility.ProviderView, e eligibility.Entitlement, a eligibility.Assistant, v visit) []providerRow {
	var rows []providerRow
	for _, p := range providers {
		row := providerRow{
			Name: p.Name, Target: targetOf(p.BaseURL), Own: p.Own, Costs: p.CostsCredits, Used: p.Name == a.Provider,
			Allowed: slices.Contains(e.Providers, p.Name), State: stateOf(p), Models: modelsOf(p, a), Check: checkOf(p.Check, v),
		}
		for _, model := range slices.Sorted(maps.Keys(p.Windows)) {
			row.Windows = append(row.Windows, windowRow{model, p.Windows[model]})
		}
		if p.Own != nil {
			row.BaseURL = p.Own.BaseURL
			if p.Own.CostsCredits != nil {
				row.Charge = map[bool]string{true: "yes", false: "no"}[*p.Own.CostsCredits]
			}
		}
		switch {
		case row.Check != nil:
			row.Checked = row.Check.Check.Model
		case row.Used:
			row.Checked = a.Model
		}
		for _, l := range p.Learned() {
			row.Learned = append(row.Learned, lessonView{l, sayAll(l.Findings(), v)})
		}
		if v.now.Before(p.Health.Waiting) {
			row.Waiting = p.Health.Waiting
		}
		rows = append(rows, row)
	}
	return rows
}

// checkOf returns a check in the words of a visit; nil for none.
func checkOf(c *eligibility.Check, v visit) *checkView {
	if c == nil {
		return nil
	}
	view := &checkView{Check: c.Seen(v.now)}
	if view.Check.Reason != "" {
		view.Note, view.Do = view.Check.Message().In(v.tag), view.Check.Action().In(v.tag)
	}
	view.Findings = sayAll(view.Check.Findings, v)
	return view
}

func sayAll(found []eligibility.Finding, v visit) (list []string) {
	for _, f := range found {
		list = append(list, f.Text().In(v.tag))
	}
	return list
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

// modelsOf lists the models of a provider that have a price of their own, and those that the assistant uses and that have a
// list price, by name.
func modelsOf(p eligibility.ProviderView, a eligibility.Assistant) []modelRow {
	prices := eligibility.TablePrices(p.Provider)
	maps.Copy(prices, p.Prices)
	var rows []modelRow
	for name, price := range prices {
		_, own := p.Prices[name]
		rows = append(rows, modelRow{Name: name, Price: price, Own: own, Key: "page.price"})
	}
	for _, c := range append([]eligibility.Choice{{Provider: a.Provider, Model: a.Model}}, a.Fallback...) {
		if price, how := eligibility.PriceOf(p.Provider, c.Model); c.Provider == p.Name && how == eligibility.PricedByList {
			rows = append(rows, modelRow{Name: c.Model, Price: price, Key: "page.price.list"})
		}
	}
	slices.SortFunc(rows, func(a, b modelRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}
