package process

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"piloto/internal/ground/ids"
)

// backstage is where functions that are processes of their own find AWS: DynamoDB,
// Step Functions, Secrets Manager and the management of sockets, on loopback. The keys
// of providers are behind it, so that it serves nobody but whoever was told its
// credentials: the processes that this one starts.
type backstage struct {
	id, secret string // the credentials; whoever presents the id is let in
	url        string
	server     *http.Server
}

// openBackstage serves the engines, and the management API of sockets.
func openBackstage(engines, sockets http.Handler) (*backstage, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backstage{id: ids.Secret(), secret: ids.Secret(), url: "http://" + listener.Addr().String()}
	b.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: b.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/@connections/") {
				sockets.ServeHTTP(w, r)
				return
			}
			engines.ServeHTTP(w, r)
		})),
	}
	go func() { _ = b.server.Serve(listener) }() // ends with close
	return b, nil
}

// guarded serves requests that are signed with the credentials of this process.
func (b *backstage) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(signer(r.Header.Get("Authorization"))), []byte(b.id)) != 1 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"__type":"AccessDeniedException","Message":"This is served to the functions of one process alone"}`))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// signer is the access key id of a signature: "AWS4-HMAC-SHA256 Credential=ID/date/…, …".
func signer(authorization string) string {
	fields, ok := strings.CutPrefix(authorization, "AWS4-HMAC-SHA256 ")
	if !ok {
		return ""
	}
	for field := range strings.SplitSeq(fields, ",") {
		if credential, ok := strings.CutPrefix(strings.TrimSpace(field), "Credential="); ok {
			id, _, _ := strings.Cut(credential, "/")
			return id
		}
	}
	return ""
}

// environment is how a function gets there: the SDK's own variables.
func (b *backstage) environment() []string {
	env := []string{
		"AWS_REGION=" + awsRegion, "AWS_DEFAULT_REGION=" + awsRegion,
		"AWS_ACCESS_KEY_ID=" + b.id, "AWS_SECRET_ACCESS_KEY=" + b.secret,
	}
	for _, service := range []string{"DYNAMODB", "SFN", "SECRETS_MANAGER", "APIGATEWAYMANAGEMENTAPI"} {
		env = append(env, "AWS_ENDPOINT_URL_"+service+"="+b.url)
	}
	return env
}

// close answers what was asked, for a moment, and nobody any more.
func (b *backstage) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := b.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = b.server.Close()
	}
}
