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

// awsEndpoint serves AWS on loopback to functions that run as processes of their own: DynamoDB,
// Step Functions, Secrets Manager, S3, Lambda and the management API of sockets. It gives access to the keys of
// providers, so it serves only requests with its credentials, and only the child processes of this
// process know them.
type awsEndpoint struct {
	id, secret string // the credentials; only the id is compared
	url        string
	server     *http.Server
}

// openAWSEndpoint serves the engines and the management API of sockets.
func openAWSEndpoint(engines, sockets http.Handler) (*awsEndpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &awsEndpoint{id: ids.Secret(), secret: ids.Secret(), url: "http://" + listener.Addr().String()}
	b.server = &http.Server{
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		Handler: b.requireCredentials(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

// requireCredentials refuses requests that are not signed with the access key id of this process.
func (b *awsEndpoint) requireCredentials(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(accessKeyID(r.Header.Get("Authorization"))), []byte(b.id)) != 1 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"__type":"AccessDeniedException","Message":"This is served to the functions of one process alone"}`))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// accessKeyID returns the access key id of a signature: "AWS4-HMAC-SHA256 Credential=ID/date/…, …".
func accessKeyID(authorization string) string {
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

// environment returns the variables with which the SDK of a function finds this endpoint.
func (b *awsEndpoint) environment() []string {
	env := []string{
		"AWS_REGION=" + awsRegion, "AWS_DEFAULT_REGION=" + awsRegion,
		"AWS_ACCESS_KEY_ID=" + b.id, "AWS_SECRET_ACCESS_KEY=" + b.secret,
	}
	for _, service := range []string{"DYNAMODB", "SFN", "SECRETS_MANAGER", "APIGATEWAYMANAGEMENTAPI", "S3", "LAMBDA"} {
		env = append(env, "AWS_ENDPOINT_URL_"+service+"="+b.url)
	}
	return env
}

// close waits one second for the requests under way, and serves no others.
func (b *awsEndpoint) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := b.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = b.server.Close()
	}
}
