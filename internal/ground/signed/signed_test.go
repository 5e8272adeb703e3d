package signed_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/internal/ground/signed"
)

func serve(t *testing.T) (*httptest.Server, *[]string) {
	t.Helper()
	var signatures []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signatures = append(signatures, r.Header.Get("Authorization"))
		w.Header().Set("X-Amzn-Errortype", "Some:http://x")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(r.Method + " " + r.URL.EscapedPath()))
	}))
	t.Cleanup(s.Close)
	return s, &signatures
}

var now = func() time.Time { return time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) }

func TestARequestIsSignedForItsService(t *testing.T) {
	s, signatures := serve(t)
	c := signed.New(aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}, "svc", s.URL+"/", now)
	a, err := c.Do(t.Context(), http.MethodPut, "/a%2Fb", []byte("x"), 100)
	if err != nil || a.Status != http.StatusTeapot || a.Kind != "Some" || string(a.Body) != "PUT /a%2Fb" {
		t.Errorf("%+v, %v", a, err)
	}
	if got := (*signatures)[0]; !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=id/20261127/eu-west-1/svc/aws4_request") {
		t.Error(got)
	}
}

// TestARequestInTheProcessIsNotSigned, goes to the configured endpoint, and no more of the answer is read than asked.
func TestARequestInTheProcessIsNotSigned(t *testing.T) {
	s, signatures := serve(t)
	c := signed.New(aws.Config{Credentials: aws.AnonymousCredentials{}, BaseEndpoint: &s.URL}, "svc", "https://nowhere.invalid", now)
	a, err := c.Do(t.Context(), http.MethodGet, "/a", nil, 3)
	if err != nil || string(a.Body) != "GET " || (*signatures)[0] != "" {
		t.Errorf("%+v, %v, signed %q", a, err, *signatures)
	}
}

func TestWithoutCredentialsNothingIsSent(t *testing.T) {
	s, signatures := serve(t)
	missing := errors.New("no credentials")
	c := signed.New(aws.Config{Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, missing
	})}, "svc", s.URL, now)
	if _, err := c.Do(t.Context(), http.MethodGet, "/", nil, 3); !errors.Is(err, missing) || len(*signatures) != 0 {
		t.Errorf("%v, %d requests", err, len(*signatures))
	}
}
