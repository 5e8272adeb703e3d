package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

// Webhooks creates and deletes webhooks, and authenticates signed requests.
type Webhooks interface {
	// Create returns a webhook that acts as the caller, and its secret, which is returned only here.
	Create(ctx context.Context, p auth.Principal, name string) (auth.Webhook, string, error)
	List(ctx context.Context, account ids.Account) ([]auth.Webhook, error)
	Delete(ctx context.Context, account ids.Account, id string) error
	// Authenticate returns auth.ErrRequired for every kind of invalid delivery.
	Authenticate(ctx context.Context, d auth.Delivery) (auth.Principal, error)
}

// webhooks adds the routes of webhooks to those of the registry.
func (a *api) webhooks() {
	h := webhookHandler{a.config.Webhooks}
	register(a, operation{
		method: http.MethodPost, path: "/api/webhooks", id: "createWebhook", access: withAdmin, status: http.StatusCreated,
		summary:  "Make a webhook: another system then signs its requests, and acts as you, with the scope chat only",
		failures: []int{409, 413, 415, 422},
	}, h.create)
	register(a, operation{
		method: http.MethodGet, path: "/api/webhooks", id: "listWebhooks", access: withAdmin,
		summary: "List the webhooks, the oldest first, without their secrets",
	}, h.list)
	register(a, operation{
		method: http.MethodDelete, path: "/api/webhooks/{id}", id: "deleteWebhook", access: withAdmin, status: http.StatusNoContent,
		summary: "Remove a webhook and its secret; what it signs is refused at once", failures: []int{404},
	}, h.delete)
}

// WebhookRequest is the body that creates a webhook.
type WebhookRequest struct {
	Name string `json:"name" minLength:"1" maxLength:"80" doc:"what people call it"`
}

// Webhook is the JSON form of a webhook.
type Webhook struct {
	ID        string    `json:"webhook_id" doc:"what X-Piloto-Webhook names"`
	Name      string    `json:"name"`
	User      string    `json:"user" doc:"whom it acts as"`
	CreatedAt time.Time `json:"created_at"`
}

// WebhookMade is a new webhook with its secret.
type WebhookMade struct {
	Webhook
	Secret string `json:"secret" doc:"whsec_ and the key in base64; shown this once"`
	Key    string `json:"key" doc:"the same key as a text, for who signs with one; shown this once"`
}

// WebhookList is the account's webhooks.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false"`
}

func showWebhook(w auth.Webhook) Webhook {
	return Webhook{ID: w.ID, Name: w.Name, User: w.User, CreatedAt: w.CreatedAt.UTC()}
}

type webhookHandler struct{ service Webhooks }

func (h webhookHandler) create(ctx context.Context, in *struct{ Body WebhookRequest }) (*reply[WebhookMade], error) {
	w, secret, err := h.service.Create(ctx, caller(ctx), strings.TrimSpace(in.Body.Name))
	if err != nil {
		return nil, err
	}
	return answer(WebhookMade{showWebhook(w), secret, auth.WebhookKey(secret)}), nil
}

func (h webhookHandler) list(ctx context.Context, _ *nothing) (*reply[WebhookList], error) {
	got, err := h.service.List(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	v := WebhookList{Webhooks: make([]Webhook, 0, len(got))}
	for _, w := range got {
		v.Webhooks = append(v.Webhooks, showWebhook(w))
	}
	return answer(v), nil
}

func (h webhookHandler) delete(ctx context.Context, in *struct {
	ID string `path:"id"`
},
) (*nothing, error) {
	if !auth.ValidWebhook(in.ID) {
		return nil, auth.ErrWebhookNotFound
	}
	return nil, h.service.Delete(ctx, caller(ctx).Account, in.ID)
}
