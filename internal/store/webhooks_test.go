package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
)

func TestWebhookIsFoundByIDAndListedByAccount(t *testing.T) {
	table := fixture.Table(t)
	hook := func(id string, account ids.Account, at time.Time) auth.Webhook {
		w := auth.Webhook{ID: id, Account: account, User: "ana", Name: "n8n", Scopes: []auth.Scope{auth.ScopeChat}, CreatedAt: at}
		if err := table.Access.CreateWebhook(ctx, w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	second, first := hook("wh_"+newID(now.Add(time.Hour)), "acme", now.Add(time.Hour)), hook("wh_"+newID(now.Add(-time.Hour)), "acme", now)
	if first.ID > second.ID { // a source's ids grow, whatever the time
		first, second = second, first
	}
	theirs := hook("wh_x", "acme2", now)
	for _, w := range []auth.Webhook{first, second, theirs} {
		got, err := table.Access.Webhook(ctx, w.ID)
		if d := cmp.Diff(w, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	list, err := table.Access.Webhooks(ctx, "acme")
	if d := cmp.Diff([]auth.Webhook{first, second}, list); err != nil || d != "" {
		t.Error(err, d)
	}
	if err := table.Access.CreateWebhook(ctx, auth.Webhook{ID: first.ID, Account: "thief"}); err == nil {
		t.Error("an id was taken from its account")
	}
	if err := table.Access.DeleteWebhook(ctx, "acme2", first.ID); !errors.Is(err, auth.ErrWebhookNotFound) {
		t.Errorf("removed by another account: %v", err)
	}
	if _, err := table.Access.Webhook(ctx, first.ID); err != nil {
		t.Error(err)
	}
	for _, want := range []error{nil, auth.ErrWebhookNotFound} {
		if err := table.Access.DeleteWebhook(ctx, "acme", first.ID); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if _, err := table.Access.Webhook(ctx, first.ID); !errors.Is(err, auth.ErrWebhookNotFound) {
		t.Error(err)
	}
	if list, err := table.Access.Webhooks(ctx, "acme"); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
}
