package access

import (
	"context"

	"piloto/internal/access/auth"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// webhookRow is a webhook, which is stored twice: in its account, where it is listed, and under its
// own id, by which a signed request finds it in one read. Both rows are written and deleted in one
// transaction, and never changed. Neither has the secret.
type webhookRow struct {
	kv.Key
	ID        string      `dynamodbav:"id"`
	Account   ids.Account `dynamodbav:"account"`
	User      string      `dynamodbav:"user"`
	Name      string      `dynamodbav:"name"`
	Scopes    []string    `dynamodbav:"scopes"`
	CreatedAt int64       `dynamodbav:"created_at"`
}

const (
	webhookSK     = "WEBHOOK"
	webhookPrefix = "WEBHOOK#"
)

func webhooksKey(account ids.Account) string { return kv.Account(account) + "#WEBHOOKS" }

func webhookKey(id string) kv.Key { return kv.Key{PK: webhookPrefix + id, SK: webhookSK} }

var errWebhookTaken = fault.New(fault.Conflict, "webhook.id_taken")

func (row webhookRow) webhook() auth.Webhook {
	w := auth.Webhook{ID: row.ID, Account: row.Account, User: row.User, Name: row.Name, CreatedAt: kv.Time(row.CreatedAt)}
	for _, s := range row.Scopes {
		w.Scopes = append(w.Scopes, auth.Scope(s))
	}
	return w
}

// CreateWebhook stores a webhook under a new id.
func (s *Store) CreateWebhook(ctx context.Context, w auth.Webhook) error {
	row := webhookRow{
		Key: kv.Key{PK: webhooksKey(w.Account), SK: webhookPrefix + w.ID}, ID: w.ID, Account: w.Account, User: w.User, Name: w.Name,
		CreatedAt: kv.Millis(w.CreatedAt),
	}
	for _, scope := range w.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	inAccount := kv.Insert(row).Else(errWebhookTaken)
	row.Key = webhookKey(w.ID)
	return s.table.Commit(ctx, inAccount, kv.Insert(row).Else(errWebhookTaken))
}

// Webhook finds a webhook by its id.
func (s *Store) Webhook(ctx context.Context, id string) (auth.Webhook, error) {
	var row webhookRow
	err := s.table.Get(ctx, webhookKey(id), &row, auth.ErrWebhookNotFound)
	return row.webhook(), err
}

// Webhooks returns an account's webhooks, the oldest first.
func (s *Store) Webhooks(ctx context.Context, account ids.Account) ([]auth.Webhook, error) {
	items, err := s.table.Read(ctx, kv.Rows(webhooksKey(account), webhookPrefix), 0)
	if err != nil {
		return nil, err
	}
	return kv.Readable(ctx, s.table, items, func(row webhookRow) (auth.Webhook, error) { return row.webhook(), nil })
}

// DeleteWebhook removes a webhook of an account.
func (s *Store) DeleteWebhook(ctx context.Context, account ids.Account, id string) error {
	inAccount := kv.Delete(kv.Key{PK: webhooksKey(account), SK: webhookPrefix + id})
	return s.table.Commit(ctx, inAccount.If(kv.Exists("PK")).Else(auth.ErrWebhookNotFound), kv.Delete(webhookKey(id)))
}
