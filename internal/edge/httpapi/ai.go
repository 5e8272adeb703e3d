package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
)

// AI serves the routes below /ai and the assistants of projects: the state of an account's AI, its costs and its
// settings.
func AI(c Config, s AIServices) http.Handler {
	a := newAPI(c)
	a.ai(s)
	return a.handler()
}

// aiHandler serves the routes below /ai.
type aiHandler struct {
	config Config
	AIServices
}

func (a *api) ai(services AIServices) {
	a.function = FunctionEligibility
	s := aiHandler{a.config, services}
	register(a, operation{
		method: http.MethodGet, path: "/ai/status", id: "aiStatus", access: withChat,
		summary: "What the account's AI is, and how its last calls went", failures: []int{404, 422},
	}, s.status)
	register(a, operation{
		method: http.MethodGet, path: "/ai/eligibility", id: "eligibility", access: withChat,
		summary: "Whether a chat would be answered now, and by whom, or why not", failures: []int{404, 422},
	}, s.eligibilityOf)
	register(a, operation{
		method: http.MethodPost, path: "/ai/eligibility", id: "askEligibility", access: withChat, optionalBody: true,
		summary: "The same, asked in a body", failures: []int{404, 413, 415, 422},
	}, s.askEligibility)
	a.usage(s)
	a.credits(s)
	a.assistants(s)
	a.terms(s)
	a.providers(s)
}

// AIStatus is the state of an account's AI.
type AIStatus struct {
	Entitled   bool        `json:"entitled" doc:"the account may use AI"`
	Enabled    bool        `json:"enabled" doc:"and it is switched on"`
	Configured bool        `json:"configured" doc:"there is an assistant, and its provider has a key"`
	Connected  bool        `json:"connected" doc:"the provider answered the last call, or a probe"`
	Providers  []string    `json:"allowedProviders" nullable:"false"`
	Attempts   []AIAttempt `json:"attempts" nullable:"false" doc:"the newest calls of providers, the newest first"`
	Provider   string      `json:"provider" doc:"of the assistant; empty when there is none"`
	Model      string      `json:"model"`
	Priced     string      `json:"priced,omitempty" enum:"table,override,list,rule,free" doc:"where the price of the model comes from, as in estimate of the eligibility"`
	CheckedAt  *time.Time  `json:"checked_at,omitempty" doc:"when the provider was last known to answer, or not to"`
	Outcome    string      `json:"outcome,omitempty" doc:"what that came to: ok, or the reason"`
}

// AIAttempt is one call of a provider.
type AIAttempt struct {
	At        time.Time `json:"at"`
	Provider  string    `json:"provider"`
	Model     string    `json:"model"`
	Outcome   string    `json:"outcome" doc:"ok, or the reason it failed"`
	Latency   int64     `json:"latency_ms"`
	Input     int       `json:"input_tokens"`
	Cached    int       `json:"cached_tokens" doc:"of input_tokens: what the provider read from its cache"`
	Output    int       `json:"output_tokens"`
	Estimated bool      `json:"estimated" doc:"the provider did not count the tokens: we did"`
}

func (s aiHandler) status(ctx context.Context, in *struct {
	AccountID string `query:"accountId" maxLength:"256" doc:"the caller's own, or absent"`
},
) (*reply[AIStatus], error) {
	if err := ownAccount(ctx, in.AccountID); err != nil {
		return nil, err
	}
	got, err := s.Decisions.Status(ctx, caller(ctx).Account, s.Books, s.Models)
	if err != nil {
		return nil, err
	}
	v := AIStatus{
		Entitled: got.Entitled, Enabled: got.Enabled, Configured: got.Configured, Connected: got.Connected,
		Providers: list(got.Providers), Attempts: make([]AIAttempt, 0, len(got.Attempts)),
		Provider: got.Provider, Model: got.Model, Priced: string(got.Priced), CheckedAt: optionalTime(got.CheckedAt), Outcome: got.Outcome,
	}
	for _, one := range got.Attempts {
		v.Attempts = append(v.Attempts, showAttempt(one))
	}
	return answer(v), nil
}

func showAttempt(a llm.Attempt) AIAttempt {
	return AIAttempt{
		At: a.At.UTC(), Provider: a.Provider, Model: a.Model, Outcome: a.Outcome, Latency: a.Latency.Milliseconds(),
		Input: a.Usage.Input, Cached: a.Usage.Cached, Output: a.Usage.Output, Estimated: a.Usage.Estimated,
	}
}

// optionalTime returns nil for the zero time.
func optionalTime(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// EligibilityRequest is the subject of a decision. Without any member it is about a new chat outside of a project.
type EligibilityRequest struct {
	ConversationID string `json:"conversationId,omitempty" maxLength:"128" doc:"the same as chat_id"`
	ChatID         string `json:"chat_id,omitempty" maxLength:"128"`
	ProjectID      string `json:"project_id,omitempty" maxLength:"128" doc:"of a chat that is not there yet"`
	AccountID      string `json:"accountId,omitempty" maxLength:"256" doc:"the caller's own, or absent"`
}

// Eligibility is a decision. The members after Block are set when canExecute is true, and Block is set when it is
// false.
type Eligibility struct {
	CanExecute      bool                    `json:"canExecute"`
	Block           *EligibilityBlock       `json:"block,omitempty"`
	Provider        string                  `json:"provider,omitempty"`
	Model           string                  `json:"model,omitempty"`
	Runtime         string                  `json:"runtime,omitempty" enum:"chat_completions,demo"`
	RequiresCredits *bool                   `json:"requiresCredits,omitempty"`
	Order           []string                `json:"providerOrder,omitempty" nullable:"false" doc:"who is tried, in this order"`
	SessionID       string                  `json:"sessionId,omitempty" doc:"of the open credit session that pays; absent: one is opened, or none is needed"`
	Estimate        *eligibility.Estimate   `json:"estimate,omitempty" doc:"the worst case of the first call"`
	Fallback        *Swap                   `json:"fallback,omitempty" doc:"when another than the preferred provider answers"`
	Automation      *eligibility.Automation `json:"automation,omitempty" doc:"when the chat is answered"`
}

// Swap is the reason why a turn does not use the preferred provider.
type Swap struct {
	Preferred string             `json:"preferred" doc:"the provider that the assistant names first"`
	Reason    eligibility.Reason `json:"reason"`
	Message   string             `json:"message"`
}

// EligibilityBlock is a Block with a balance that is always present in JSON.
type EligibilityBlock struct {
	Reason   eligibility.Reason `json:"reason" doc:"stable; what a program matches on"`
	Message  string             `json:"message"`
	Balance  *int64             `json:"creditBalance" doc:"null unless credits are the reason"`
	Missing  int64              `json:"creditsMissing,omitempty" doc:"credits to add before it can be paid"`
	Passed   *PassedLimit       `json:"passed,omitempty" doc:"the limit that the call would pass, when limits are the reason"`
	Provider string             `json:"provider,omitempty" doc:"that the block is about"`
	Action   string             `json:"action" doc:"what to do next"`
	Remedy   eligibility.Remedy `json:"remedy" enum:"manage_credits,manage_assistants,retry" doc:"where"`
}

func (s aiHandler) eligibilityOf(ctx context.Context, in *struct {
	ConversationID string `query:"conversationId" maxLength:"128" doc:"the same as chat_id"`
	ChatID         string `query:"chat_id" maxLength:"128"`
	ProjectID      string `query:"project_id" maxLength:"128" doc:"of a chat that is not there yet"`
	AccountID      string `query:"accountId" maxLength:"256" doc:"the caller's own, or absent"`
},
) (*reply[Eligibility], error) {
	return s.decide(ctx, EligibilityRequest(*in), "query")
}

func (s aiHandler) askEligibility(ctx context.Context, in *struct{ Body EligibilityRequest }) (*reply[Eligibility], error) {
	return s.decide(ctx, in.Body, "body")
}

// ownAccount returns errAccount for another account than the caller's.
func ownAccount(ctx context.Context, id string) error {
	if id != "" && ids.Account(id) != caller(ctx).Account {
		return errAccount
	}
	return nil
}

func (s aiHandler) decide(ctx context.Context, r EligibilityRequest, place string) (*reply[Eligibility], error) {
	who := caller(ctx)
	if err := ownAccount(ctx, r.AccountID); err != nil {
		return nil, err
	}
	if r.ConversationID != "" && r.ChatID != "" && r.ConversationID != r.ChatID {
		return nil, errInvalid.At(field("value_error", place, "chat_id"))
	}
	q := eligibility.Question{Account: who.Account, ProjectID: r.ProjectID}
	if r.ProjectID != "" {
		if err := s.project(ctx, r.ProjectID); err != nil {
			return nil, err
		}
	}
	if id := cmp.Or(r.ChatID, r.ConversationID); id != "" {
		if !ids.Valid(id) {
			return nil, conversation.ErrChatNotFound
		}
		chat, err := s.Owned.Chat(ctx, who.Account, id)
		if err != nil {
			return nil, err
		}
		if r.ProjectID != "" && r.ProjectID != chat.ProjectID {
			return nil, errInvalid.At(field("value_error", place, "project_id"))
		}
		q.ProjectID, q.Mode = chat.ProjectID, eligibility.Mode(chat.Automation)
		if q, err = s.askedBy(ctx, q, chat.Agent); err != nil {
			return nil, err
		}
	}
	plan, block := s.Decisions.Eligibility(ctx, q)
	return answer(showEligibility(plan, block, requestInfoFrom(ctx).lang)), nil
}

// askedBy returns a question with the model and the bounds of the agent that a chat chose. A turn goes on without an agent that
// was deleted, and so does the question.
func (s aiHandler) askedBy(ctx context.Context, q eligibility.Question, name string) (eligibility.Question, error) {
	if name == "" {
		return q, nil
	}
	l, err := agent.Resolve(ctx, s.Loops, q.Account, name)
	switch {
	case errors.Is(err, agent.ErrNoAgent), errors.Is(err, agent.ErrNotALoop):
		return q, nil
	case err != nil:
		return q, err
	}
	return l.Asked(q), nil
}

// project returns an error for a project that is not the caller's.
func (s aiHandler) project(ctx context.Context, id string) error {
	if !ids.Valid(id) {
		return conversation.ErrProjectNotFound
	}
	_, err := s.Owned.Project(ctx, caller(ctx).Account, id)
	return err
}

func showEligibility(plan *eligibility.Selection, block *eligibility.Block, lang locale.Tag) Eligibility {
	if plan == nil {
		return Eligibility{Block: &EligibilityBlock{
			Reason: block.Reason, Message: block.Message().In(lang), Balance: block.CreditBalance, Missing: block.Missing, Passed: showPassed(block.Passed), Provider: block.Provider, Action: block.Action().In(lang), Remedy: block.Remedy,
		}}
	}
	var fallback *Swap
	if s := plan.Swap; s != nil {
		fallback = &Swap{Preferred: s.Preferred, Reason: s.Reason, Message: s.Message().In(lang)}
	}
	return Eligibility{
		CanExecute: true, Provider: plan.Provider, Model: plan.Model, Runtime: plan.Runtime(), RequiresCredits: &plan.RequiresCredits,
		Order: plan.Order(), SessionID: plan.SessionID, Estimate: &plan.Estimate, Fallback: fallback,
		Automation: &eligibility.Automation{Mode: plan.Mode, DelayMS: plan.Assistant.Automation.DelayMS},
	}
}
