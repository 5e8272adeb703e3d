// Package files builds functions/files, the only function that links the client of S3 and the tools for files.
package files

import (
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"piloto/internal/boot"
	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/serve"
)

// cacheBytes is how much of the contents of files an environment keeps.
const cacheBytes = 64 << 20

// Start runs functions/files.
func Start() { boot.StartHTTP(New) }

// New builds functions/files.
func New(w boot.World, e boot.Environment) (http.Handler, error) { return boot.Files(w, e, open) }

// open returns the files in the bucket.
func open(w boot.World, c boot.FilesConfig, log *slog.Logger) files.Workspace {
	client := s3.NewFromConfig(w.Objects, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil // an endpoint that is named has no host for each bucket
	})
	cache := bucket.NewCache(cacheBytes)
	return serve.New(serve.Config{
		Store: func(p files.Place) workspace.Store {
			return bucket.New(bucket.Config{Client: client, Name: c.Bucket, Prefix: bucket.Prefix(p), Cache: cache, Now: w.Now})
		},
		Objects: bucket.Objects{Client: client, Name: c.Bucket, Now: w.Now},
		Now:     w.Now, Log: log,
	})
}
