package httpapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"piloto/infra/local/fixture/memory"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/serve"
)

// placesWorld is the files of the world's places, each with a.txt.
type placesWorld struct {
	*serve.Service
	mu     sync.Mutex
	stores map[files.Place]workspace.Store
	marked []files.Place
	fault  error // of every mark
}

func newPlaces() *placesWorld {
	w := &placesWorld{stores: map[files.Place]workspace.Store{}}
	w.Service = serve.New(serve.Config{Store: w.store, Objects: &memory.Objects{}, Mark: w.mark, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	return w
}

func (w *placesWorld) store(p files.Place) workspace.Store {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stores[p] == nil {
		w.stores[p] = memory.With(map[string]string{"a.txt": "hola\n"})
	}
	return w.stores[p]
}

func (w *placesWorld) mark(_ context.Context, p files.Place) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marked = append(w.marked, p)
	return w.fault
}
