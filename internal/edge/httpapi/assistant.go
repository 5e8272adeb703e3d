package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/models/eligibility"
)

func (a *api) assistants(s aiHandler) {
	register(a, readAssistant("/ai/assistant", "readAssistant", "the account"),
		func(ctx context.Context, _ *nothing) (*reply[eligibility.Assistant], error) {
			return s.assistant(ctx, "")
		})
	register(a, setAssistant("/ai/assistant", "setAssistant", "the account"),
		func(ctx context.Context, in *struct{ Body AssistantRequest }) (*reply[eligibility.Assistant], error) {
			return s.setAssistant(ctx, "", in.Body)
		})
	register(a, deleteAssistant("/ai/assistant", "deleteAssistant", "the account"),
		func(ctx context.Context, _ *nothing) (*nothing, error) {
			return nil, s.Settings.DeleteAssistant(ctx, caller(ctx).Account, "")
		})

	const ofProject = "/api/projects/{id}/assistant"
	register(a, readAssistant(ofProject, "readProjectAssistant", "a project"),
		func(ctx context.Context, in *projectInput) (*reply[eligibility.Assistant], error) {
			if err := s.project(ctx, in.ID); err != nil {
				return nil, err
			}
			return s.assistant(ctx, in.ID)
		})
	register(a, setAssistant(ofProject, "setProjectAssistant", "a project"),
		func(ctx context.Context, in *struct {
			ID   string `path:"id"`
			Body AssistantRequest
		},
		) (*reply[eligibility.Assistant], error) {
			if err := s.project(ctx, in.ID); err != nil {
				return nil, err
			}
			return s.setAssistant(ctx, in.ID, in.Body)
		})
	register(a, deleteAssistant(ofProject, "deleteProjectAssistant", "a project"),
		func(ctx context.Context, in *projectInput) (*nothing, error) {
			if err := s.project(ctx, in.ID); err != nil {
				return nil, err
			}
			return nil, s.Settings.DeleteAssistant(ctx, caller(ctx).Account, in.ID)
		})
	a.entitlements(s)
}

func readAssistant(path, id, whose string) operation {
	return operation{
		method: http.MethodGet, path: path, id: id, access: withChat,
		summary: "Read the assistant in force for " + whose + "; scope says whose it is", failures: []int{404},
	}
}

func setAssistant(path, id, whose string) operation {
	return operation{
		method: http.MethodPut, path: path, id: id, access: withAdmin,
		summary:  "Set the assistant of " + whose + "; what is absent has its default",
		failures: []int{404, 413, 415, 422},
	}
}

func deleteAssistant(path, id, whose string) operation {
	return operation{
		method: http.MethodDelete, path: path, id: id, access: withAdmin, status: http.StatusNoContent,
		summary: "Remove the assistant of " + whose + ": the wider one is in force", failures: []int{404},
	}
}

func (a *api) entitlements(s aiHandler) {
	register(a, operation{
		method: http.MethodGet, path: "/ai/entitlement", id: "readEntitlement", access: withChat,
		summary: "Read whether the account may use AI, and which providers",
	}, s.entitlement)
	register(a, operation{
		method: http.MethodPut, path: "/ai/entitlement", id: "setEntitlement", access: withAdmin,
		summary: "Set whether the account may use AI, and which providers", failures: []int{413, 415, 422},
	}, s.setEntitlement)
}

// AssistantRequest is the body that replaces an assistant. An absent member gets its default and not its former
// value.
type AssistantRequest struct {
	Name        string               `json:"name,omitempty" maxLength:"80"`
	Active      *bool                `json:"active,omitempty" doc:"true when absent"`
	Provider    string               `json:"provider" minLength:"1" maxLength:"260"`
	Model       string               `json:"model" minLength:"1" maxLength:"200"`
	Temperature *float64             `json:"temperature,omitempty" minimum:"0" maximum:"2" doc:"0.2 when absent"`
	MaxTokens   *int                 `json:"max_tokens,omitempty" minimum:"16" maximum:"128000" doc:"that one answer may have; 4096 when absent"`
	Persona     string               `json:"persona,omitempty" doc:"who it is, how it speaks and what it has to do; at most 16 KB"`
	TimeZone    string               `json:"time_zone,omitempty" maxLength:"64" doc:"of who does not say theirs, as Europe/Madrid; UTC when absent"`
	Automation  *AutomationRequest   `json:"automation,omitempty" doc:"automatic, without delay, when absent"`
	Conclude    *string              `json:"conclude,omitempty" enum:"on,off" doc:"whether the model tells what came of a plan; as the wider assistant says when absent, and on when none says it"`
	Fallback    []eligibility.Choice `json:"fallback,omitempty" maxItems:"5" doc:"who stands in, in order; nobody when absent"`
}

// Resolve refuses an unknown time zone.
func (r *AssistantRequest) Resolve(huma.Context) []error { return wrongZone(r.TimeZone) }

// AutomationRequest decides when an assistant answers.
type AutomationRequest struct {
	Mode    eligibility.Mode `json:"mode" enum:"automatic,manual,off"`
	DelayMS int              `json:"delay_ms,omitempty" minimum:"0" maximum:"10000" doc:"how long to wait for a further message"`
}

// temperature is the default of an assistant.
const temperature = 0.2

func (r AssistantRequest) assistant() eligibility.Assistant {
	a := eligibility.Assistant{
		Name: r.Name, Provider: r.Provider, Model: r.Model, Persona: r.Persona, TimeZone: r.TimeZone, Fallback: list(r.Fallback),
		Active: valueOr(r.Active, true), Temperature: valueOr(r.Temperature, temperature), MaxTokens: valueOr(r.MaxTokens, eligibility.DefaultMaxTokens),
		Automation: eligibility.Automation{Mode: eligibility.Automatic}, Conclude: eligibility.Conclusion(valueOr(r.Conclude, "")),
	}
	if r.Automation != nil {
		a.Automation = eligibility.Automation(*r.Automation)
	}
	return a
}

// valueOr returns the sent value, or the default when it is absent.
func valueOr[T any](sent *T, absent T) T {
	if sent == nil {
		return absent
	}
	return *sent
}

func (s aiHandler) assistant(ctx context.Context, projectID string) (*reply[eligibility.Assistant], error) {
	got, ok, err := s.Settings.AssistantOf(ctx, caller(ctx).Account, projectID)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errNobody
	}
	return answer(showAssistant(got)), nil
}

func (s aiHandler) setAssistant(ctx context.Context, projectID string, r AssistantRequest) (*reply[eligibility.Assistant], error) {
	got, err := s.Settings.PutAssistant(ctx, caller(ctx).Account, projectID, r.assistant())
	if err != nil {
		return nil, err
	}
	return answer(showAssistant(got)), nil
}

func showAssistant(a eligibility.Assistant) eligibility.Assistant {
	a.Fallback, a.UpdatedAt = list(a.Fallback), a.UpdatedAt.UTC()
	return a
}

// Entitlement is whether an account may use AI, and which providers.
type Entitlement struct {
	Entitled  bool     `json:"entitled" doc:"the account may use AI"`
	Enabled   bool     `json:"enabled" doc:"and it is switched on"`
	Providers []string `json:"allowedProviders" nullable:"false" doc:"empty: every provider that there is"`
}

// EntitlementRequest is the body that replaces an entitlement.
type EntitlementRequest struct {
	Entitled  bool     `json:"entitled"`
	Enabled   bool     `json:"enabled"`
	Providers []string `json:"allowedProviders,omitempty" nullable:"false" maxItems:"50" doc:"every provider that there is, when absent or empty"`
}

func (s aiHandler) entitlement(ctx context.Context, _ *nothing) (*reply[Entitlement], error) {
	got, err := s.Settings.Entitlement(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return answer(showEntitlement(got)), nil
}

func (s aiHandler) setEntitlement(ctx context.Context, in *struct{ Body EntitlementRequest }) (*reply[Entitlement], error) {
	got, err := s.Settings.PutEntitlement(ctx, caller(ctx).Account, eligibility.Entitlement{
		Entitled: in.Body.Entitled, Enabled: in.Body.Enabled, Providers: list(in.Body.Providers),
	})
	if err != nil {
		return nil, err
	}
	return answer(showEntitlement(got)), nil
}

func showEntitlement(e eligibility.Entitlement) Entitlement {
	return Entitlement{Entitled: e.Entitled, Enabled: e.Enabled, Providers: list(e.Providers)}
}
