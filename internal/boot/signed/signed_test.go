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

	"piloto/internal/boot/signed"
)

func serve(t *testing.T) (*httptest.Server, *[]string) {
	t.Helper()
	var signatures []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signatures = append(signatures, r.Header.Get("Authorization"))
		w.Header().Set("X-Some", "y")
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
	status, header, body, err := c.Do(t.Context(), http.MethodPut, "/a%2Fb", []byte("x"), 100)
	if err != nil || status != http.StatusTeapot || header.Get("X-Some") != "y" || string(body) != "PUT /a%2Fb" {
		t.Errorf("%d %v %s, %v", status, header, body, err)
	}
	if got := (*signatures)[0]; !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=id/20261127/eu-west-1/svc/aws4_request") {
		t.Error(got)
	}
}

// TestARequestInTheProcessIsNotSigned, goes to the configured endpoint, and no more of the answer is read than asked.
func TestARequestInTheProcessIsNotSigned(t *testing.T) {
	s, signatures := serve(t)
	c := signed.New(aws.Config{Credentials: aws.AnonymousCredentials{}, BaseEndpoint: &s.URL}, "svc", "https://nowhere.invalid", now)
	_, _, body, err := c.Do(t.Context(), http.MethodGet, "/a", nil, 3)
	if err != nil || string(body) != "GET " || (*signatures)[0] != "" {
		t.Errorf("%s, %v, signed %q", body, err, *signatures)
	}
}

// TestAServiceHasItsOwnEndpoint, in every partition.
func TestAServiceHasItsOwnEndpoint(t *testing.T) {
	for region, want := range map[string]string{"eu-west-1": "lambda.eu-west-1.amazonaws.com", "cn-north-1": "lambda.cn-north-1.amazonaws.com.cn"} {
		var host string
		config := aws.Config{Region: region, HTTPClient: doer(func(r *http.Request) (*http.Response, error) {
			host = r.URL.Host
			return nil, http.ErrServerClosed
		})}
		if _, _, _, err := signed.New(config, "lambda", "", now).Do(t.Context(), http.MethodGet, "/", nil, 1); !errors.Is(err, http.ErrServerClosed) || host != want {
			t.Errorf("%s: %q, %v", region, host, err)
		}
	}
}

type doer func(*http.Request) (*http.Response, error)

// Do implements aws.HTTPClient.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func TestWithoutCredentialsNothingIsSent(t *testing.T) {
	s, signatures := serve(t)
	missing := errors.New("no credentials")
	c := signed.New(aws.Config{Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, missing
	})}, "svc", s.URL, now)
	if _, _, _, err := c.Do(t.Context(), http.MethodGet, "/", nil, 3); !errors.Is(err, missing) || len(*signatures) != 0 {
		t.Errorf("%v, %d requests", err, len(*signatures))
	}
}
