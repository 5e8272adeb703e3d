package httpapi

import (
	"context"
	"maps"
	"net/http"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/ground/ids"
)

// Companies reads and writes the router's settings of an account, for all of its companies (company 0) or for one
// of them.
type Companies interface {
	// Settings returns a company's own settings, and those in force for it.
	Settings(ctx context.Context, account ids.Account, company int64) (own, inForce agent.Settings, err error)
	// PutSettings replaces the settings. Its errors name all faults.
	PutSettings(ctx context.Context, account ids.Account, company int64, s agent.Settings) (own, inForce agent.Settings, err error)
	DeleteSettings(ctx context.Context, account ids.Account, company int64) error
	Companies(ctx context.Context, account ids.Account, cursor string, limit int) (companies []int64, next string, err error)
}

func (a *api) companies(c Companies) {
	s := companyHandler{c}
	register(a, operation{
		method: http.MethodGet, path: "/api/router/companies", id: "listCompanies", access: withChat,
		summary: "List the companies that set something of the router themselves", failures: []int{422},
	}, s.list)
	register(a, readRouter("/api/router", "readRouter", "for all companies"),
		func(ctx context.Context, _ *nothing) (*reply[RouterSettings], error) { return s.read(ctx, 0) })
	register(a, setRouter("/api/router", "setRouter", "for all companies"),
		func(ctx context.Context, in *struct{ Body RouterRequest }) (*reply[RouterSettings], error) {
			return s.set(ctx, 0, in.Body)
		})
	register(a, deleteRouter("/api/router", "deleteRouter", "for all companies"),
		func(ctx context.Context, _ *nothing) (*nothing, error) { return s.delete(ctx, 0) })

	const ofCompany = "/api/router/{id_empresa}"
	register(a, readRouter(ofCompany, "readCompanyRouter", "for a company, and what is in force for it"),
		func(ctx context.Context, in *companyInput) (*reply[RouterSettings], error) {
			return s.read(ctx, in.Company)
		})
	register(a, setRouter(ofCompany, "setCompanyRouter", "for a company, before what is set for all"),
		func(ctx context.Context, in *struct {
			Company int64 `path:"id_empresa" minimum:"1" doc:"the account's own number of a company"`
			Body    RouterRequest
		},
		) (*reply[RouterSettings], error) {
			return s.set(ctx, in.Company, in.Body)
		})
	register(a, deleteRouter(ofCompany, "deleteCompanyRouter", "for a company"),
		func(ctx context.Context, in *companyInput) (*nothing, error) { return s.delete(ctx, in.Company) })
}

func readRouter(path, id, whose string) operation {
	return operation{
		method: http.MethodGet, path: path, id: id, access: withChat,
		summary: "Read what is set of the router " + whose, failures: []int{422},
	}
}

func setRouter(path, id, whose string) operation {
	return operation{
		method: http.MethodPut, path: path, id: id, access: withAdmin,
		summary:  "Set agents, business context and prompts of the router " + whose + "; what is absent is not set",
		failures: []int{413, 415, 422},
	}
}

func deleteRouter(path, id, whose string) operation {
	return operation{
		method: http.MethodDelete, path: path, id: id, access: withAdmin, status: http.StatusNoContent,
		summary: "Remove what is set of the router " + whose, failures: []int{422},
	}
}

type companyHandler struct{ companies Companies }

type companyInput struct {
	Company int64 `path:"id_empresa" minimum:"1" doc:"the account's own number of a company"`
}

// RouterRequest is the body that replaces the settings of a router.
type RouterRequest struct {
	Agents     []string          `json:"agents,omitempty" doc:"that may be delegated to, by name, at most 50; when absent, all servers and those of your own that have keywords; none when empty"`
	ContextURL string            `json:"context_url,omitempty" maxLength:"2048" doc:"where the business context is asked for"`
	Context    string            `json:"context,omitempty" doc:"the business context itself, instead of a URL; at most 16 KB"`
	Prompts    map[string]string `json:"prompts,omitempty" doc:"texts in place of the sections identity, business, state, delegation and direct; at most 16 KB together"`
}

// RouterValues are the settings of a router.
type RouterValues struct {
	Agents     []string          `json:"agents" nullable:"true" doc:"null: all servers, and those of your own that have keywords"`
	ContextURL string            `json:"context_url"`
	Context    string            `json:"context"`
	Prompts    map[string]string `json:"prompts"`
}

// RouterSettings are the own settings of an account or of one of its companies and, for a company, the settings in
// force.
type RouterSettings struct {
	Company int64 `json:"id_empresa,omitempty" doc:"absent for all companies"`
	RouterValues
	UpdatedAt *time.Time    `json:"updated_at,omitempty" doc:"absent when nothing is set"`
	InForce   *RouterValues `json:"in_force,omitempty"`
}

func showValues(s agent.Settings) RouterValues {
	v := RouterValues{Agents: s.Agents, ContextURL: s.ContextURL, Context: s.Context, Prompts: map[string]string{}}
	maps.Copy(v.Prompts, s.Prompts)
	return v
}

func showRouter(company int64, own, inForce agent.Settings) *reply[RouterSettings] {
	v := RouterSettings{Company: company, RouterValues: showValues(own), UpdatedAt: optionalTime(own.UpdatedAt)}
	if company != 0 {
		values := showValues(inForce)
		v.InForce = &values
	}
	return answer(v)
}

func (s companyHandler) read(ctx context.Context, company int64) (*reply[RouterSettings], error) {
	own, inForce, err := s.companies.Settings(ctx, caller(ctx).Account, company)
	if err != nil {
		return nil, err
	}
	return showRouter(company, own, inForce), nil
}

func (s companyHandler) set(ctx context.Context, company int64, r RouterRequest) (*reply[RouterSettings], error) {
	own, inForce, err := s.companies.PutSettings(ctx, caller(ctx).Account, company, agent.Settings{
		Agents: r.Agents, ContextURL: r.ContextURL, Context: r.Context, Prompts: r.Prompts,
	})
	if err != nil {
		return nil, err
	}
	return showRouter(company, own, inForce), nil
}

func (s companyHandler) delete(ctx context.Context, company int64) (*nothing, error) {
	return nil, s.companies.DeleteSettings(ctx, caller(ctx).Account, company)
}

// CompanyList is a page of the companies with own settings.
type CompanyList struct {
	Companies []int64 `json:"companies" nullable:"false" doc:"by number"`
	Cursor    string  `json:"cursor,omitempty" doc:"of the next page, when there is one"`
}

func (s companyHandler) list(ctx context.Context, in *PageInput) (*reply[CompanyList], error) {
	companies, next, err := s.companies.Companies(ctx, caller(ctx).Account, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	return answer(CompanyList{list(companies), next}), nil
}
