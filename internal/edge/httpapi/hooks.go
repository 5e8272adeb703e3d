package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/live/hook"
)

// Hooks makes, changes and removes hooks, and has deliveries sent again (hook.Service).
type Hooks interface {
	// Create returns a hook and its secret, which is returned only here.
	Create(ctx context.Context, p auth.Principal, w hook.Wish) (hook.Hook, string, error)
	List(ctx context.Context, account ids.Account) ([]hook.Hook, error)
	Hook(ctx context.Context, account ids.Account, id string) (hook.Hook, error)
	// Update returns the new secret, when the wish has one.
	Update(ctx context.Context, account ids.Account, id string, w hook.Wish) (hook.Hook, string, error)
	Delete(ctx context.Context, account ids.Account, id string) error
	Deliveries(ctx context.Context, account ids.Account, id, cursor string, limit int) ([]hook.Delivery, string, error)
	Resend(ctx context.Context, account ids.Account, id, delivery string) (hook.Delivery, error)
}

// hooks adds the routes of hooks to those of the registry.
func (a *api) hooks() {
	h := hookHandler{a.config.Hooks}
	register(a, operation{
		method: http.MethodPost, path: "/api/hooks", id: "createHook", access: withAdmin, status: http.StatusCreated,
		summary:  "Make a hook: an address that is told, with a signature, what happens in the account",
		failures: []int{409, 413, 415, 422}, describe: describeMessages,
	}, h.create)
	register(a, operation{
		method: http.MethodGet, path: "/api/hooks", id: "listHooks", access: withAdmin,
		summary: "List the hooks, the oldest first, without their secrets",
	}, h.list)
	register(a, operation{
		method: http.MethodGet, path: "/api/hooks/{id}", id: "readHook", access: withAdmin,
		summary: "Read a hook, without its secret", failures: []int{404},
	}, h.read)
	register(a, operation{
		method: http.MethodPatch, path: "/api/hooks/{id}", id: "changeHook", access: withAdmin,
		summary: "Change a hook: its address, its events, whether it is on, or its secret", failures: []int{404, 413, 415, 422},
	}, h.change)
	register(a, operation{
		method: http.MethodDelete, path: "/api/hooks/{id}", id: "deleteHook", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove a hook and its secret; what is not delivered yet is not sent any more", failures: []int{404},
	}, h.delete)
	register(a, operation{
		method: http.MethodGet, path: "/api/hooks/{id}/deliveries", id: "listDeliveries", access: withAdmin,
		summary: "List what was sent to a hook, the newest first, with every attempt", failures: []int{404, 422},
	}, h.deliveries)
	register(a, operation{
		method: http.MethodPost, path: "/api/hooks/{id}/deliveries/{delivery_id}/resend", id: "resendDelivery", access: withAdmin, status: http.StatusAccepted,
		summary: "Send a delivery again within a minute, with the same webhook-id", failures: []int{404, 409},
	}, h.resend)
}

// describeMessages adds the messages that hooks get to the document, by their type.
func describeMessages(h huma.API, _ *huma.Operation) {
	h.OpenAPI().Webhooks = map[string]*huma.PathItem{}
	run := schemaOf[hook.RunData](h)
	for e, about := range map[hook.Event]struct {
		summary string
		data    *huma.Schema
	}{
		hook.PlanProposed:  {"A draft waits for its confirmation", run},
		hook.RunWaiting:    {"Steps of a run wait for an approval", run},
		hook.RunFinished:   {"A confirmed run ended", run},
		hook.RunInDoubt:    {"A run ended with steps of which nobody knows whether they took effect", run},
		hook.AgentFailed:   {"A customer's message got no answer of an agent, or a job failed", schemaOf[hook.AgentData](h)},
		hook.BreakerOpened: {"An agent failed so often that it is not called for a while", schemaOf[hook.BreakerData](h)},
		hook.BudgetLow:     {"Less than a fifth is left of a budget, or less of a limit than the next answer may cost", schemaOf[hook.BudgetData](h)},
	} {
		body := &huma.Schema{
			Type: huma.TypeObject, Required: []string{"type", "timestamp", "data"}, Properties: map[string]*huma.Schema{
				"type": {Type: huma.TypeString, Enum: []any{string(e)}}, "timestamp": {Type: huma.TypeString, Format: "date-time"}, "data": about.data,
			},
		}
		text := func(about string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Description: about} }
		h.OpenAPI().Webhooks[string(e)] = &huma.PathItem{Post: &huma.Operation{
			OperationID: "tell." + string(e), Summary: about.summary,
			Parameters: []*huma.Param{
				{Name: "webhook-id", In: "header", Required: true, Schema: text("the same for each attempt")},
				{Name: "webhook-timestamp", In: "header", Required: true, Schema: text("seconds")},
				{Name: "webhook-signature", In: "header", Required: true, Schema: text("v1, and the HMAC-SHA256 of id.timestamp.body in base64")},
			},
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: body}}},
			Responses:   map[string]*huma.Response{"2XX": {Description: "It is not sent again"}},
		}}
	}
}

// HookRequest is the body that makes a hook.
type HookRequest struct {
	URL    string   `json:"url" minLength:"1" maxLength:"2048" doc:"where messages are sent: https, or http to a host of this machine or a private network where the deployment allows it"`
	Events []string `json:"events" minItems:"1" maxItems:"20" nullable:"false" doc:"plan.proposed, run.waiting, run.finished, run.in_doubt, agent.failed, breaker.opened, budget.low"`
	Secret *string  `json:"secret,omitempty" doc:"whsec_ and 24 to 64 bytes in base64; absent: one is made"`
}

// Resolve refuses events that there are not.
func (r *HookRequest) Resolve(huma.Context) []error { return unknownEvents(r.Events) }

// HookPatch is the body that changes a hook. An absent member stays.
type HookPatch struct {
	URL     *string  `json:"url,omitempty" minLength:"1" maxLength:"2048" doc:"as in POST"`
	Events  []string `json:"events,omitempty" minItems:"1" maxItems:"20" nullable:"false" doc:"as in POST; they take the place of those before"`
	Enabled *bool    `json:"enabled,omitempty" doc:"false: it is told nothing"`
	Secret  *string  `json:"secret,omitempty" doc:"a new secret, as in POST; an empty one: one is made"`
}

// Resolve refuses events that there are not.
func (r *HookPatch) Resolve(huma.Context) []error { return unknownEvents(r.Events) }

func unknownEvents(list []string) []error {
	var wrong []fault.Field
	for i, e := range list {
		if !hook.Event(e).Known() {
			wrong = append(wrong, field("enum", "body", "events", i))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return []error{errInvalid.At(wrong...)}
}

// Hook is the JSON form of a hook.
type Hook struct {
	ID           string     `json:"hook_id"`
	URL          string     `json:"url"`
	Events       []string   `json:"events" nullable:"false"`
	Enabled      bool       `json:"enabled"`
	Off          string     `json:"off,omitempty" enum:"person,gone,failing" doc:"why it is not enabled: somebody switched it off, its address answered 410, or every delivery failed for three days"`
	FailingSince *time.Time `json:"failing_since,omitempty" doc:"since when every delivery failed"`
	By           string     `json:"by" doc:"who made it"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
}

// HookMade is a hook with its secret, when it is new.
type HookMade struct {
	Hook
	Secret string `json:"secret,omitempty" doc:"whsec_ and the key in base64, when it is new; shown this once"`
	Key    string `json:"key,omitempty" doc:"the same key as a text, for who verifies with one; absent when its bytes are none"`
}

// textKey returns the key of a secret as a text; "" when not all of its bytes are visible ASCII.
func textKey(secret string) string {
	key := auth.WebhookKey(secret)
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return key
}

// HookList is the account's hooks.
type HookList struct {
	Hooks []Hook `json:"hooks" nullable:"false"`
}

// DeliveryAttempt is one request of a delivery.
type DeliveryAttempt struct {
	At     time.Time `json:"at"`
	Millis int64     `json:"ms" doc:"how long it took"`
	Status int       `json:"status,omitempty" doc:"of the answer; absent: there was none"`
	Error  string    `json:"error,omitempty" doc:"target, dns, refused, tls, timeout, cancelled, reset, protocol, status, or off: the hook was off"`
}

// DeliveryView is one message to a hook.
type DeliveryView struct {
	ID        string            `json:"delivery_id" doc:"the webhook-id of every request of it"`
	Type      string            `json:"type"`
	State     string            `json:"state" enum:"pending,delivered,failed"`
	Body      json.RawMessage   `json:"body" doc:"what is sent"`
	Attempts  []DeliveryAttempt `json:"attempts" nullable:"false" doc:"the last 30, the oldest first"`
	CreatedAt time.Time         `json:"created_at"`
	NextAt    *time.Time        `json:"next_at,omitempty" doc:"of the next attempt; the sweep makes it, each minute"`
}

// DeliveryList is a page of deliveries.
type DeliveryList struct {
	Deliveries []DeliveryView `json:"deliveries" nullable:"false"`
	Next       string         `json:"cursor,omitempty" doc:"of the next page; absent: this is the last one"`
}

func showHook(h hook.Hook) Hook {
	v := Hook{
		ID: h.ID, URL: h.URL, Events: []string{}, Enabled: h.Enabled, Off: h.Off, By: h.By, FailingSince: optionalTime(h.FailingSince),
		CreatedAt: h.CreatedAt.UTC(), UpdatedAt: h.UpdatedAt.UTC(),
	}
	for _, e := range h.Events {
		v.Events = append(v.Events, string(e))
	}
	return v
}

func showDelivery(d hook.Delivery) DeliveryView {
	v := DeliveryView{
		ID: d.ID, Type: string(d.Type), State: string(d.State), Body: d.Body, Attempts: []DeliveryAttempt{},
		CreatedAt: d.CreatedAt.UTC(), NextAt: optionalTime(d.NextAt),
	}
	for _, a := range d.Attempts {
		v.Attempts = append(v.Attempts, DeliveryAttempt{At: a.At.UTC(), Millis: a.Millis, Status: a.Status, Error: a.Error})
	}
	return v
}

type hookHandler struct{ service Hooks }

func wanted(list []string) []hook.Event {
	var events []hook.Event
	for _, e := range slices.Compact(slices.Sorted(slices.Values(list))) {
		events = append(events, hook.Event(e))
	}
	return events
}

func (h hookHandler) create(ctx context.Context, in *struct{ Body HookRequest }) (*reply[HookMade], error) {
	made, secret, err := h.service.Create(ctx, caller(ctx), hook.Wish{URL: &in.Body.URL, Events: wanted(in.Body.Events), Secret: in.Body.Secret})
	if err != nil {
		return nil, err
	}
	return answer(HookMade{showHook(made), secret, textKey(secret)}), nil
}

func (h hookHandler) list(ctx context.Context, _ *nothing) (*reply[HookList], error) {
	got, err := h.service.List(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	v := HookList{Hooks: make([]Hook, 0, len(got))}
	for _, one := range got {
		v.Hooks = append(v.Hooks, showHook(one))
	}
	return answer(v), nil
}

type ofHook struct {
	ID string `path:"id"`
}

func (h hookHandler) read(ctx context.Context, in *ofHook) (*reply[Hook], error) {
	if !hook.Valid(in.ID) {
		return nil, hook.ErrNotFound
	}
	got, err := h.service.Hook(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(showHook(got)), nil
}

func (h hookHandler) change(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body HookPatch
},
) (*reply[HookMade], error) {
	if !hook.Valid(in.ID) {
		return nil, hook.ErrNotFound
	}
	b := in.Body
	got, secret, err := h.service.Update(ctx, caller(ctx).Account, in.ID, hook.Wish{URL: b.URL, Events: wanted(b.Events), Enabled: b.Enabled, Secret: b.Secret})
	if err != nil {
		return nil, err
	}
	return answer(HookMade{showHook(got), secret, textKey(secret)}), nil
}

func (h hookHandler) delete(ctx context.Context, in *ofHook) (*nothing, error) {
	if !hook.Valid(in.ID) {
		return nil, hook.ErrNotFound
	}
	return nil, h.service.Delete(ctx, caller(ctx).Account, in.ID)
}

func (h hookHandler) deliveries(ctx context.Context, in *struct {
	ID string `path:"id"`
	PageInput
},
) (*reply[DeliveryList], error) {
	if !hook.Valid(in.ID) {
		return nil, hook.ErrNotFound
	}
	got, next, err := h.service.Deliveries(ctx, caller(ctx).Account, in.ID, in.Cursor, in.size())
	if err != nil {
		return nil, err
	}
	v := DeliveryList{Deliveries: make([]DeliveryView, 0, len(got)), Next: next}
	for _, d := range got {
		v.Deliveries = append(v.Deliveries, showDelivery(d))
	}
	return answer(v), nil
}

func (h hookHandler) resend(ctx context.Context, in *struct {
	ID       string `path:"id"`
	Delivery string `path:"delivery_id"`
},
) (*reply[DeliveryView], error) {
	switch {
	case !hook.Valid(in.ID):
		return nil, hook.ErrNotFound
	case !hook.ValidDelivery(in.Delivery):
		return nil, hook.ErrDeliveryNotFound
	}
	d, err := h.service.Resend(ctx, caller(ctx).Account, in.ID, in.Delivery)
	if err != nil {
		return nil, err
	}
	return answer(showDelivery(d)), nil
}
