package boot

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"piloto/internal/workspace/files"
)

// TestFilesAreThoseOfTheFunctionThatTheEnvironmentNames: its client asks Lambda, at the endpoint of the environment.
func TestFilesAreThoseOfTheFunctionThatTheEnvironmentNames(t *testing.T) {
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/2015-03-31/functions/stack-Files/invocations" || !strings.Contains(r.Header.Get("Authorization"), "id/") {
			t.Errorf("%s, signed %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(`{"result":{"names":"a.txt"}}`))
	}))
	t.Cleanup(lambda.Close)
	e := Environment{
		"TABLE_NAME": "t", "FILES_FUNCTION": "stack-Files", "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key",
		"AWS_ENDPOINT_URL_LAMBDA": lambda.URL,
	}
	c, err := read[StepConfig](e)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err := lambdaWorld(e).site(c.Config).filesClient(c.Workspace).Tree(t.Context(), files.Place{Account: "a", Chat: "c"}, ""); err != nil || tree.Names != "a.txt" {
		t.Errorf("%q, %v", tree, err)
	}
	delete(e, "FILES_FUNCTION")
	if _, err := read[StepConfig](e); err == nil || !strings.Contains(err.Error(), "FILES_FUNCTION") {
		t.Error(err)
	}
}
