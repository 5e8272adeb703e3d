package client

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"piloto/infra/local/fixture/memory"
	"piloto/infra/local/fixture/storetest"
	"piloto/internal/access/auth"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	served "piloto/internal/workspace/serve"
)

// owned has every chat and project.
type owned struct{}

func (owned) Project(_ context.Context, _ ids.Account, id string) (conversation.Project, error) {
	return conversation.Project{ID: id}, nil
}

func (owned) Chat(_ context.Context, _ ids.Account, id string) (conversation.Chat, error) {
	return conversation.Chat{ID: id}, nil
}

const someID = "01K0000000000000000000000B"

// filesOver returns the files of a project, over the real routes and a store. Each answer may be lost once.
func filesOver(t *testing.T, store workspace.Store, lost func(r *http.Request) bool) Files {
	t.Helper()
	service := served.New(served.Config{
		Store: func(files.Place) workspace.Store { return store }, Objects: &memory.Objects{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	routes := httpapi.Workspaces(httpapi.Config{Now: time.Now, Trace: func(context.Context) string { return "" }}, service, owned{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(auth.NewContext(r.Context(), auth.Principal{Account: "a", User: "ana", Scopes: []auth.Scope{auth.ScopeChat}}))
		if lost != nil && lost(r) {
			routes.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return New(Target{Origin: s.URL, Token: "token-of-ana"}, "es").ProjectFiles(someID)
}

// TestFilesOfADeploymentAreAStore: the routes and the client together behave as the store that they serve.
func TestFilesOfADeploymentAreAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, limits workspace.Limits) workspace.Store {
		return filesOver(t, &memory.Store{Limits: limits}, nil)
	})
}

// TestALargeFileGoesAndComesInPieces, also when the first answer to each piece is lost.
func TestALargeFileGoesAndComesInPieces(t *testing.T) {
	var mu sync.Mutex // an answer that was lost is given up while its request is still served
	seen := map[string]bool{}
	f := filesOver(t, memory.With(nil), func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		key := r.Method + r.Header.Get("Content-Range") + r.Header.Get("Range")
		defer func() { seen[key] = true }()
		return !seen[key]
	})
	whole := []byte(strings.Repeat("\x00\xff0123456789\r\n", 700_000)) // 9.8 MB
	made, err := f.Write(t.Context(), "d/ñ 100%.bin", whole, "")
	if err != nil {
		t.Fatal(err)
	}
	got, file, err := workspace.ReadAll(t.Context(), f, "d/ñ 100%.bin", "")
	if err != nil || !bytes.Equal(got, whole) || file.Version != made.Version || file.Size != int64(len(whole)) {
		t.Errorf("%d bytes, %+v, %v", len(got), file, err)
	}
	mu.Lock()
	requests := len(seen)
	mu.Unlock()
	if requests < 6 {
		t.Errorf("only %d requests", requests)
	}
	part, _, err := f.Read(t.Context(), "d/ñ 100%.bin", "", 5_000_000, 10)
	if err != nil || !bytes.Equal(part, whole[5_000_000:5_000_010]) {
		t.Errorf("%q, %v", part, err)
	}
}

func TestARefusalIsAFaultOfAStore(t *testing.T) {
	f := filesOver(t, memory.With(nil), nil)
	_, err := f.Write(t.Context(), "a", []byte("x"), "v7")
	var p *Problem
	if !errors.Is(err, workspace.ErrMoved) || errors.Is(err, workspace.ErrNotFound) || !errors.As(err, &p) || p.Status != http.StatusPreconditionFailed {
		t.Error(err)
	}
}
