package localaws

import (
	"context"
	"errors"
	"io"
	"localaws/disk"
	"localaws/stepfunctions"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// called is the functions of a test: f answers, fails, and breaks; there is no other one.
type called struct{}

func (called) Invoke(_ context.Context, arn string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	switch {
	case arn != functionARN+"f":
		return nil, &stepfunctions.FunctionError{Type: notFound, Message: "Function not found: " + arn}, nil
	case string(payload) == `"fail"`:
		return nil, &stepfunctions.FunctionError{Type: "Boom", Message: "m<"}, nil
	case string(payload) == `"break"`:
		return nil, nil, errors.New("broken")
	}
	return append([]byte("["), append(payload, ']')...), nil, nil
}

func serveLambda(t *testing.T, c stepfunctions.Invoker) *httptest.Server {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	services, err := Open(store, Options{Called: c, Objects: filepath.Join(dir, "objects")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(services)
	t.Cleanup(func() {
		server.Close()
		_ = services.Halt()
		_ = store.Close()
	})
	return server
}

// TestLambdaAPIServesItsClient: the client of this module, which is held to what Lambda answers.
func TestLambdaAPIServesItsClient(t *testing.T) {
	f, err := NewFunctions(serveLambda(t, called{}).URL)
	if err != nil {
		t.Fatal(err)
	}
	invoke := func(name, payload string) (string, *stepfunctions.FunctionError, error) {
		out, failure, err := f.Invoke(t.Context(), functionARN+name, []byte(payload))
		return string(out), failure, err
	}
	if out, failure, err := invoke("f", `{"a": 1}`); out != `[{"a": 1}]` || failure != nil || err != nil {
		t.Error(out, failure, err)
	}
	if _, failure, err := invoke("f", `"fail"`); failure == nil || failure.Type != "Boom" || failure.Message != "m<" || err != nil {
		t.Error(failure, err)
	}
	for payload, want := range map[string]string{
		`"break"`: "ServiceException", `{`: "InvalidRequestContentException", `"` + strings.Repeat("x", maxEvent) + `"`: "RequestTooLargeException",
	} {
		var coded interface{ ErrorCode() string }
		if _, failure, err := invoke("f", payload); failure != nil || !errors.As(err, &coded) || coded.ErrorCode() != want {
			t.Errorf("%.10s: %v, %v, want %s", payload, failure, err, want)
		}
	}
	var coded interface{ ErrorCode() string }
	if _, _, err := invoke("other", "1"); !errors.As(err, &coded) || coded.ErrorCode() != "ResourceNotFoundException" {
		t.Error(err)
	}
}

func TestLambdaAPIRefusesWhatItDoesNotServe(t *testing.T) {
	server := serveLambda(t, called{})
	for _, c := range []struct {
		method, path, kind string
		want               int
	}{
		{"POST", "f/invocations", "", 200},
		{"POST", strings.ReplaceAll(functionARN, ":", "%3A") + "f/invocations", "RequestResponse", 200},
		{"POST", "f/invocations", "Event", 501},
		{"POST", "f/invocations?Qualifier=1", "", 501},
		{"GET", "f/invocations", "", 501},
		{"GET", "f/configuration", "", 501},
		{"POST", "", "", 501},
	} {
		r, _ := http.NewRequestWithContext(t.Context(), c.method, server.URL+functionsPath+c.path, http.NoBody)
		if c.kind != "" {
			r.Header.Set("X-Amz-Invocation-Type", c.kind)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.want || c.want == 200 && string(body) != "[{}]" {
			t.Errorf("%s %s: %d %s", c.method, c.path, res.StatusCode, body)
		}
	}
	res, err := http.Post(serveLambda(t, nil).URL+functionsPath+"f/invocations", "", nil) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode == http.StatusOK {
		t.Error("a deployment without functions answered")
	}
}
