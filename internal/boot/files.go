package boot

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"piloto/internal/edge/gateway"
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
	Bucket string `env:"FILES_BUCKET,required,notEmpty"`
}

// filesClient returns the files of projects and of chats, which the function files has.
func (s site) filesClient(c Workspace) files.Workspace {
	return call.New(s.Functions, c.FilesFunction, s.Now)
}

// Files builds functions/files, with the files that open returns (package files). Other functions invoke it, too.
func Files(w World, e Environment, open func(World, FilesConfig, *slog.Logger) files.Workspace) (http.Handler, error) {
	c, err := read[FilesConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config)
	all := open(s.World, c, s.log)
	calls := gateway.NewFunction(func(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
		return call.Serve(ctx, all, event)
	})
	return gateway.InvokedHandler{Handler: s.serve(http.NotFoundHandler()), Function: calls}, nil
}
