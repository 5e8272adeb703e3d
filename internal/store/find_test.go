package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// fill adds chats with their messages, each a minute newer than the one before.
func fill(t testing.TB, table store.Stores, account ids.Account, chats int, texts ...string) {
	t.Helper()
	for i := range chats {
		at := now.Add(time.Duration(i) * time.Minute)
		c := conversation.Chat{ID: fmt.Sprintf("c%05d", i), Title: fmt.Sprint("Chat ", i), CreatedAt: at, UpdatedAt: at}
		if err := table.Chats.CreateChat(ctx, account, c); err != nil {
			t.Fatal(err)
		}
		for k, text := range texts {
			id := fmt.Sprintf("m%05d%03d", i, k)
			m := conversation.Message{ID: id, Seq: id, Role: conversation.RoleUser, Kind: conversation.KindText, Content: text, At: at}
			if err := table.Chats.Say(ctx, conversation.Key{Account: account, ChatID: c.ID}, m); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// search reads all pages of a search, and returns the ids of the chats, and how many pages there were.
func search(t testing.TB, table store.Stores, account ids.Account, s conversation.Search, limit int) (found []string, pages int) {
	t.Helper()
	cursor := ""
	for {
		page, next, err := table.Chats.FindChats(ctx, account, s, cursor, limit)
		if err != nil || len(page) > limit {
			t.Fatal(page, err)
		}
		pages++
		for _, f := range page {
			found = append(found, f.ID+" "+f.Match.MessageID)
		}
		if cursor = next; next == "" {
			return found, pages
		}
	}
}

func TestFindChats(t *testing.T) {
	table := fixture.Table(t)
	fill(t, table, "acme", 6, "Reserva la Sala Niágara", "otra cosa")
	yes := true
	for id, change := range map[string]conversation.ChatChange{"c00001": {Archived: &yes}, "c00002": {Pinned: &yes}} {
		if _, err := table.Chats.UpdateChat(ctx, conversation.Key{Account: "acme", ChatID: id}, change, now); err != nil {
			t.Fatal(err)
		}
	}
	words := conversation.WordsOf
	for _, limit := range []int{1, 2, 5, 50} {
		for _, c := range []struct {
			search conversation.Search
			want   string
		}{
			{conversation.Search{Words: words("NIAGARA sala")}, "c00002 m00002000 c00005 m00005000 c00004 m00004000 c00003 m00003000 c00000 m00000000 c00001 m00001000"},
			{conversation.Search{Words: words("niagara"), Archived: true}, "c00001 m00001000"},
			{conversation.Search{Words: words("chat 3")}, "c00003 "},
			{conversation.Search{Words: words("niagara cosa")}, ""},
			{conversation.Search{Words: words("niagara"), ProjectID: "p"}, ""},
		} {
			if got, _ := search(t, table, "acme", c.search, limit); strings.Join(got, " ") != c.want {
				t.Errorf("%+v, %d at once: %q", c.search, limit, got)
			}
		}
	}
	if got, _ := search(t, table, "other", conversation.Search{Words: words("niagara")}, 50); len(got) > 0 {
		t.Errorf("another account finds %q", got)
	}
	_, cursor, err := table.Chats.FindChats(ctx, "acme", conversation.Search{Words: words("niagara")}, "", 1)
	if err != nil || cursor == "" {
		t.Fatal(cursor, err)
	}
	if _, _, err := table.Chats.FindChats(ctx, "acme", conversation.Search{Words: words("sala")}, cursor, 1); !errors.Is(err, kv.ErrCursor) {
		t.Errorf("the cursor of another search: %v", err)
	}
}

// TestASearchReadsBoundedPages: what is far down the list is found by going on, and a page reads no more than so many
// chats.
func TestASearchReadsBoundedPages(t *testing.T) {
	table := fixture.Table(t)
	fill(t, table, "acme", 401, "hola")
	title := "aguja"
	if _, err := table.Chats.UpdateChat(ctx, conversation.Key{Account: "acme", ChatID: "c00000"}, conversation.ChatChange{Title: &title}, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, pages := search(t, table, "acme", conversation.Search{Words: []string{"aguja"}}, 50); len(got) != 1 || pages != 3 {
		t.Errorf("%q in %d pages", got, pages)
	}
}

// BenchmarkFindChats10k reads one page of a search without a hit, the worst case, and the whole search, over 10,000
// chats of 6 messages.
func BenchmarkFindChats10k(b *testing.B) {
	table := fixture.Table(b)
	fill(b, table, "acme", 10_000, "Reserva una sala para seis el lunes", strings.Repeat("Hay tres salas libres. ", 20), "la segunda", strings.Repeat("Queda reservada. ", 20), "gracias", "De nada.")
	s := conversation.Search{Words: []string{"aguja"}}
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := table.Chats.FindChats(ctx, "acme", s, "", 50); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			search(b, table, "acme", s, 50)
		}
	})
}
