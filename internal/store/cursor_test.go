package store_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/credit"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// pageOf reads a page of one entry. It returns the entry as text, and the next cursor.
type pageOf func(cursor string) (shown, next string, err error)

// lists are all lists that are read in pages, with and without their filters, of two accounts
// that hold the same things. Every method of the table that takes a cursor belongs here.
func lists(t *testing.T, table store.Stores) map[string]pageOf {
	list := map[string]pageOf{}
	for _, account := range []ids.Account{"acme", "other"} {
		of := func(name string) string { return string(account) + ": " + name }
		for _, project := range []string{"", "p"} {
			list[of("chats of "+project)] = func(cursor string) (string, string, error) {
				got, next, err := table.Chats.Chats(ctx, account, conversation.ChatFilter{ProjectID: project}, cursor, 1)
				return fmt.Sprint(got), next, err
			}
		}
		for chat := range 2 {
			c := conversation.Chat{ID: newID(now), ProjectID: "p", CreatedAt: now, UpdatedAt: now}
			if err := table.Chats.CreateChat(ctx, account, c); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				say(t, table, account, c.ID, of(fmt.Sprint(i)), now.Add(time.Duration(i)*time.Second))
			}
			list[of(fmt.Sprint("messages of ", chat))] = func(cursor string) (string, string, error) {
				got, next, err := table.Chats.Messages(ctx, conversation.Key{Account: account, ChatID: c.ID}, cursor, 1)
				return fmt.Sprint(got), next, err
			}
		}
		for i := range 3 {
			e := credit.Entry{ID: newID(now), Kind: credit.KindGrant, Amount: 1, Actor: "ana", Reason: of("grant"), At: now}
			if err := table.Wallet.Move(ctx, account, e); err != nil {
				t.Fatal(err)
			}
			if err := table.Router.PutRouterSettings(ctx, account, int64(i+1), agent.Settings{}); err != nil {
				t.Fatal(err)
			}
		}
		list[of("ledger")] = func(cursor string) (string, string, error) {
			got, next, err := table.Wallet.Ledger(ctx, account, cursor, 1)
			return fmt.Sprint(got), next, err
		}
		list[of("companies")] = func(cursor string) (string, string, error) {
			got, next, err := table.Router.RouterCompanies(ctx, account, cursor, 1)
			return fmt.Sprint(got), next, err
		}
	}
	return list
}

// TestCursorIsRefusedByAnotherList gives the cursor of each list to every other list, of the
// same account and of another. Each refuses it. A cursor that was changed, cut or made longer
// is refused too.
func TestCursorIsRefusedByAnotherList(t *testing.T) {
	all := lists(t, fixture.Table(t))
	for name, page := range all {
		_, cursor, err := page("")
		if err != nil || cursor == "" {
			t.Fatalf("%s: no second page: %q %v", name, cursor, err)
		}
		second, _, err := page(cursor)
		if err != nil {
			t.Errorf("%s: its own cursor: %v", name, err)
		}
		refuse := func(by, what, cursor string) {
			if shown, _, err := all[by](cursor); !errors.Is(err, kv.ErrCursor) {
				t.Errorf("%s, %s: %q shows %s, %v", by, what, cursor, shown, err)
			}
		}
		for by := range all {
			if by != name {
				refuse(by, "the cursor of "+name, cursor)
			}
		}
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			changed := []byte(string(raw))
			changed[i] ^= 1
			refuse(name, "changed", base64.RawURLEncoding.EncodeToString(changed))
			if i > 0 {
				refuse(name, "cut", base64.RawURLEncoding.EncodeToString(raw[:i]))
			}
		}
		for i := range cursor {
			if i > 0 {
				refuse(name, "cut as text", cursor[:i])
			}
		}
		for _, more := range []string{cursor + "A", cursor + "=", cursor + cursor, " " + cursor, cursor + "\n", "%%%", strings.Repeat("A", 5000), base64.StdEncoding.EncodeToString(append(raw, 0xfb))} {
			refuse(name, "more", more)
		}
		if again, _, err := page(cursor); err != nil || again != second {
			t.Errorf("%s: %s became %s, %v", name, second, again, err)
		}
	}
}
