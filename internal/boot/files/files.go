// Package files builds functions/files, the only function that links the client of S3 and the tools for files.
package files

import (
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
func open(o boot.Opening) boot.AllFiles {
	client := s3.NewFromConfig(o.World.Objects, func(s *s3.Options) {
		s.UsePathStyle = s.BaseEndpoint != nil // an endpoint that is named has no host for each bucket
	})
	cache := bucket.NewCache(cacheBytes)
	return serve.New(serve.Config{
		Store: func(p files.Place) workspace.Store {
			return bucket.New(bucket.Config{Client: client, Name: o.Bucket, Prefix: bucket.Prefix(p), Cache: cache, Now: o.World.Now})
		},
		Objects: bucket.Objects{Client: client, Name: o.Bucket, Now: o.World.Now},
		Mark:    o.Mark, Bounds: &serve.Bounds{Place: serve.MaxKept, Account: o.Most, Ledger: o.Kept, Needs: o.Needs}, Now: o.World.Now, Log: o.Logger,
	})
}
