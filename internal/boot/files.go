package boot

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"piloto/internal/boot/signed"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/httpapi"
	"piloto/internal/store/kept"
	"piloto/internal/workspace/call"
	"piloto/internal/workspace/files"
)

// Workspace names the function that has the files of projects and of chats, for the functions that call it.
type Workspace struct {
	FilesFunction string `env:"FILES_FUNCTION,required,notEmpty"`
}

// FilesConfig is the configuration of functions/files.
type FilesConfig struct {
	Config
	Edge
	Bucket  string `env:"FILES_BUCKET,required,notEmpty"`
	FilesMB uint32 `env:"FILES_MB" envDefault:"1000"` // that an account keeps; 0: no bound
}

// filesClient returns the files of projects and of chats, which the function files has.
func (s site) filesClient(c Workspace) files.All {
	return call.New(signed.New(s.world.Functions, "lambda", "", s.world.Now), c.FilesFunction)
}

// AllFiles is the service of functions/files: the routes, and the requests of other functions.
type AllFiles interface {
	httpapi.Files
	files.All
}

// Opening is the input of the files of functions/files (package files).
type Opening struct {
	World  World
	Bucket string
	Most   int64 // bytes that an account keeps; 0: no bound
	Kept   *kept.Store
	Needs  FileNeeds
	Mark   func(context.Context, files.Place) error // records that a scope has files
	Logger *slog.Logger
}

// Files builds functions/files, with the files that open returns. Other functions invoke it, too.
func Files(w World, e Environment, open func(Opening) AllFiles) (http.Handler, error) {
	c, err := read[FilesConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	mark := func(ctx context.Context, p files.Place) error {
		return s.stores.Chats.MarkFiles(ctx, p.Account, p.Project, p.Chat)
	}
	all := open(Opening{s.world, c.Bucket, int64(c.FilesMB) << 20, s.stores.Kept, FileNeeds{s.stores.Gone, s.stores.Runs, s.stores.Jobs}, mark, s.log})
	calls := gateway.NewFunction(func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		return call.Serve(ctx, all, event)
	})
	return gateway.InvokedHandler{Handler: s.serve(httpapi.Workspaces(s.http, all, s.stores.Chats)), Function: calls}, nil
}
