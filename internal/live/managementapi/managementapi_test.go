package managementapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/internal/boot/signed"
	"piloto/internal/live/managementapi"
	"piloto/internal/live/realtime"
)

func config() aws.Config {
	return aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "key", "")}
}

func open(config aws.Config, endpoint string) *managementapi.Poster {
	return &managementapi.Poster{API: signed.New(config, "execute-api", endpoint, time.Now)}
}

// newServer returns a management API that answers with one status, its last request and the
// number of requests.
func newServer(t *testing.T, status int, kind string) (*httptest.Server, *http.Request, *int) {
	asked, times := &http.Request{}, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = *r
		asked.Body = io.NopCloser(strings.NewReader(string(body)))
		times++
		if kind != "" {
			w.Header().Set("X-Amzn-Errortype", kind)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s, asked, &times
}

func TestPostSendsFrameOnceToStage(t *testing.T) {
	s, asked, times := newServer(t, 200, "")
	p := open(config(), s.URL+"/live")
	if err := p.Post(context.Background(), "a/b=", []byte(`{"ñ":1}`)); err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(asked.Body)
	if asked.Method != "POST" || asked.URL.EscapedPath() != "/live/@connections/a%2Fb%3D" && asked.URL.EscapedPath() != "/live/%40connections/a%2Fb%3D" || string(body) != `{"ñ":1}` {
		t.Errorf("%s %s %s", asked.Method, asked.URL.EscapedPath(), body)
	}
	if !strings.Contains(asked.Header.Get("Authorization"), "/execute-api/aws4_request") {
		t.Errorf("it is signed %q", asked.Header.Get("Authorization"))
	}
	if err := p.Close(context.Background(), "c"); err != nil || asked.Method != "DELETE" || *times != 2 {
		t.Errorf("%v: %s, %d", err, asked.Method, *times)
	}
}

func TestErrorTellsWhetherRetryMayHelp(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		kind          string
		gone, refused bool
	}{
		"gone":       {410, "GoneException", true, false},
		"gone, bare": {410, "", true, false},
		"forbidden":  {403, "ForbiddenException", false, true},
		"too large":  {413, "PayloadTooLargeException", false, true},
		"bad":        {400, "BadRequestException", false, true},
		"limited":    {429, "LimitExceededException", false, false},
		"throttled":  {429, "ThrottlingException", false, false},
		"failed":     {500, "", false, false},
		"away":       {503, "", false, false},
	} {
		s, _, times := newServer(t, c.status, c.kind)
		p := open(config(), s.URL)
		err := p.Post(context.Background(), "a", []byte("x"))
		if err == nil || errors.Is(err, realtime.ErrGone) != c.gone || errors.Is(err, realtime.ErrRefused) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if *times != 1 {
			t.Errorf("%s: tried %d times", name, *times)
		}
		if err := p.Close(context.Background(), "a"); (err == nil) != c.gone {
			t.Errorf("%s: closing: %v", name, err)
		}
	}
	s, _, _ := newServer(t, 200, "")
	s.Close()
	if err := open(config(), s.URL).Post(context.Background(), "a", []byte("x")); err == nil || errors.Is(err, realtime.ErrGone) || errors.Is(err, realtime.ErrRefused) {
		t.Errorf("nobody there: %v", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := open(config(), s.URL).Post(canceled, "a", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestConfiguredEndpointIsUsed(t *testing.T) {
	s, asked, _ := newServer(t, 200, "")
	c := config()
	c.BaseEndpoint = &s.URL
	if err := open(c, "https://nowhere.invalid/live").Post(context.Background(), "a", []byte("x")); err != nil || asked.Method != "POST" {
		t.Error(err)
	}
}
