package process

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"piloto/infra/local/demo"
	"piloto/internal/tool"
)

// Where the demonstration is served, below the process's own origin.
const (
	demoModelPath   = "/demo/model"
	demoServicePath = "/demo/rooms"
	demoModelName   = "piloto-demo"
)

// mountDemo puts the demonstration model and service before the API.
func mountDemo(folder string, now func() time.Time, api http.Handler) (http.Handler, error) {
	service, err := demo.NewService(demo.WithFile(filepath.Join(folder, "demo.jsonl")))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(demoModelPath+"/", http.StripPrefix(demoModelPath, demo.NewModel(demo.WithToday(now))))
	mux.Handle(demoServicePath+"/", http.StripPrefix(demoServicePath, service))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, demoModelPath+"/") || strings.HasPrefix(r.URL.Path, demoServicePath+"/") {
			mux.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r) // a mux would clean paths that the API must see as they are
	}), nil
}

// registerDemo registers the demonstration service at the first start, and
// again when the process moved to another address. One that a person removed
// stays removed.
func registerDemo(ctx context.Context, registry tool.Registry, mark firstStart, origin string, at time.Time) error {
	url := origin + demoServicePath
	before, err := mark.read()
	if err != nil || before == url {
		return err
	}
	servers, err := registry.List(ctx, defaultAccount)
	if err != nil {
		return err
	}
	kept := before == ""
	for _, s := range servers {
		switch s.BaseURL {
		case url: // the process ended between the two
			return mark.write(url)
		case before:
			kept = true
			if err := registry.Delete(ctx, defaultAccount, s.ID); err != nil {
				return err
			}
		}
	}
	if kept {
		if _, _, err := registry.Register(ctx, defaultAccount, tool.Registration{URL: url}, at); err != nil {
			return err
		}
	}
	return mark.write(url)
}
