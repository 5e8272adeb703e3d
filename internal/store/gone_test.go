package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/infra/local/fixture"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
)

// TestFilesOfWhatWasDeletedAreDeletedOnce: of a project and a chat with files, and of no other.
func TestFilesOfWhatWasDeletedAreDeletedOnce(t *testing.T) {
	w := fixture.NewWorld(t)
	account := ids.Account(fixture.Account)
	other := conversation.Chat{ID: w.IDs.New(w.Clock()), CreatedAt: w.Clock(), UpdatedAt: w.Clock()}
	err := errors.Join(
		w.Store.Chats.CreateProject(t.Context(), account, conversation.Project{ID: "p", Name: "P"}),
		w.Store.Chats.CreateProject(t.Context(), account, conversation.Project{ID: "bare", Name: "P"}),
		w.Store.Chats.CreateChat(t.Context(), account, other),
		w.Store.Chats.MarkFiles(t.Context(), account, "p", ""), w.Store.Chats.MarkFiles(t.Context(), account, "", w.Chat.ID),
	)
	for _, id := range []string{"p", "bare"} {
		err = errors.Join(err, w.Store.Chats.DeleteProject(t.Context(), account, id))
	}
	for _, id := range []string{w.Chat.ID, other.ID} {
		err = errors.Join(err, w.Store.Chats.DeleteChat(t.Context(), conversation.Key{Account: account, ChatID: id}))
	}
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := w.Store.Gone.Deleted(t.Context(), account)
	if want := []conversation.Gone{{Account: account, ChatID: w.Chat.ID}, {Account: account, ProjectID: "p"}}; err != nil || !slices.Equal(deleted, want) {
		t.Errorf("%+v, %v", deleted, err)
	}
	if deleted, err := w.Store.Gone.Deleted(t.Context(), "other"); err != nil || deleted != nil {
		t.Errorf("of another account: %+v, %v", deleted, err)
	}
	var cleared []conversation.Gone
	broken := errors.New("the bucket does not answer")
	sweeper := &conversation.FilesSweeper{Store: w.Store.Gone, Chats: w.Store.Chats, Now: w.Clock, Log: slog.New(slog.DiscardHandler), Clear: func(_ context.Context, g conversation.Gone) error {
		cleared = append(cleared, g)
		if broken != nil && g.ProjectID != "" {
			return broken
		}
		return nil
	}}
	if n, err := sweeper.Sweep(t.Context()); n != 2 || !errors.Is(err, broken) {
		t.Errorf("%d, %v", n, err)
	}
	broken = nil
	w.Pass(time.Hour)
	for _, want := range []int{1, 0} {
		if n, err := sweeper.Sweep(t.Context()); n != want || err != nil {
			t.Errorf("%d, %v, want %d", n, err, want)
		}
	}
	if len(cleared) != 3 || !slices.Contains(cleared, conversation.Gone{Account: account, ProjectID: "p"}) ||
		!slices.Contains(cleared, conversation.Gone{Account: account, ChatID: w.Chat.ID}) {
		t.Errorf("%+v", cleared)
	}
	if deleted, err := w.Store.Gone.Deleted(t.Context(), account); err != nil || deleted != nil {
		t.Errorf("after the sweep: %+v, %v", deleted, err)
	}
}

// TestPlacesThatAlwaysFailDoNotFillTheSweeps: 30 of them stand before one that can be cleared.
func TestPlacesThatAlwaysFailDoNotFillTheSweeps(t *testing.T) {
	w := fixture.NewWorld(t)
	for n := range 31 {
		id := fmt.Sprintf("p%02d", n)
		err := errors.Join(
			w.Store.Chats.CreateProject(t.Context(), fixture.Account, conversation.Project{ID: id, Name: "P"}),
			w.Store.Chats.MarkFiles(t.Context(), fixture.Account, id, ""),
			w.Store.Chats.DeleteProject(t.Context(), fixture.Account, id),
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	var tried []string
	end := func() {}
	sweeper := &conversation.FilesSweeper{Store: w.Store.Gone, Chats: w.Store.Chats, Now: w.Clock, Log: slog.New(slog.DiscardHandler), Clear: func(_ context.Context, g conversation.Gone) error {
		tried = append(tried, g.ProjectID)
		end()
		if g.ProjectID == "p30" {
			return nil
		}
		return errors.New("the bucket does not answer")
	}}
	for sweep, want := range []struct{ tried, cleared int }{{20, 0}, {11, 1}, {0, 0}} {
		tried = nil
		if n, err := sweeper.Sweep(t.Context()); len(tried) != want.tried || n != want.cleared || (err != nil) != (want.tried > want.cleared) {
			t.Errorf("sweep %d cleared %d of %q: %v", sweep, n, tried, err)
		}
	}
	w.Pass(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	tried, end = nil, cancel // the time of the sweep is over
	if _, err := sweeper.Sweep(ctx); len(tried) != 1 || err == nil {
		t.Fatalf("an hour later: %q, %v", tried, err)
	}
	first := tried[0]
	if _, err := sweeper.Sweep(t.Context()); len(tried) != 21 || err == nil || slices.Contains(tried[1:], first) {
		t.Errorf("after %s: %q, %v", first, tried, err)
	}
}

// meddler is a client of the table that calls a function before the first call of a verb, once it is set. The call fails
// when the function returns false.
type meddler struct {
	aws.HTTPClient
	verb   string
	before func() bool
}

func (m *meddler) Do(r *http.Request) (*http.Response, error) {
	before := m.before
	if before == nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+m.verb) {
		return m.HTTPClient.Do(r)
	}
	m.before = nil
	if before() {
		return m.HTTPClient.Do(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"__type":"AccessDeniedException","Message":"no"}`)),
	}, nil
}

func meddledWorld(t *testing.T) (*fixture.World, *meddler) {
	m := &meddler{}
	stores, _, _ := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { m.HTTPClient = c; return m })
	return fixture.NewWorldOver(t, stores), m
}

// TestTheFirstFileMayComeWhileItsPlaceIsDeleted: between the read of the row and its deletion. It is deleted, too.
func TestTheFirstFileMayComeWhileItsPlaceIsDeleted(t *testing.T) {
	for _, project := range []string{"", "p"} {
		w, m := meddledWorld(t)
		if err := w.Store.Chats.CreateProject(t.Context(), fixture.Account, conversation.Project{ID: "p", Name: "P"}); err != nil {
			t.Fatal(err)
		}
		m.verb, m.before = "TransactWriteItems", func() bool {
			if err := w.Store.Chats.MarkFiles(t.Context(), fixture.Account, project, w.Chat.ID); err != nil {
				t.Error(err)
			}
			return true
		}
		want := conversation.Gone{Account: fixture.Account, ProjectID: project}
		var err error
		if project != "" {
			err = w.Store.Chats.DeleteProject(t.Context(), fixture.Account, project)
		} else {
			want.ChatID = w.Chat.ID
			err = w.Store.Chats.DeleteChat(t.Context(), w.ChatKey())
		}
		if err != nil || m.before != nil {
			t.Fatalf("project %q: %v", project, err)
		}
		if list, err := w.Store.Gone.WithFiles(t.Context(), w.Clock(), 10); err != nil || len(list) != 1 || list[0].Key != want {
			t.Errorf("project %q: %+v, %v", project, list, err)
		}
	}
}

// TestMessagesGoAlthoughAJobIsNotTold: a repetition would not find the chat.
func TestMessagesGoAlthoughAJobIsNotTold(t *testing.T) {
	w, m := meddledWorld(t)
	w.Propose(fixture.To("GET", "/rooms", ""))
	if err := w.Store.Chats.SetAsking(t.Context(), w.ChatKey(), "", "j"); err != nil {
		t.Fatal(err)
	}
	if len(w.Messages()) == 0 {
		t.Fatal("the chat has no messages")
	}
	m.verb, m.before = "UpdateItem", func() bool { return false }
	if err := w.Store.Chats.DeleteChat(t.Context(), w.ChatKey()); err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("it answers %v", err)
	}
	if list := w.Messages(); len(list) != 0 {
		t.Errorf("%d messages remain", len(list))
	}
}
