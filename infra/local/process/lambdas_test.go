package process

import (
	"errors"
	"io"
	"localaws/template"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"piloto/internal/boot"
)

// TestAWSEndpointServesOwnFunctionsOnly: it gives access to the keys of providers.
func TestAWSEndpointServesOwnFunctionsOnly(t *testing.T) {
	reached := 0
	b, err := openAWSEndpoint(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"TableNames":[]}`)
	}), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	list := func(id string) error {
		_, err := dynamodb.NewFromConfig(aws.Config{
			Region: awsRegion, BaseEndpoint: &b.url, Credentials: credentials.NewStaticCredentialsProvider(id, b.secret, ""),
		}).ListTables(t.Context(), &dynamodb.ListTablesInput{})
		return err
	}
	if err := list(b.id); err != nil || reached != 1 {
		t.Errorf("its own: %v, reached %d times", err, reached)
	}
	var refused smithy.APIError
	if err := list("local"); !errors.As(err, &refused) || refused.ErrorCode() != "AccessDeniedException" {
		t.Errorf("another: %v", err)
	}
	for _, signature := range []string{
		"", "Bearer " + b.id, b.id, "AWS4-HMAC-SHA256 Credential=", "AWS4-HMAC-SHA256 Credential=/" + b.id,
		"AWS4-HMAC-SHA256 Credential=" + b.id + "x/20261120/us-east-1/dynamodb/aws4_request", "AWS4-HMAC-SHA256 Signature=" + b.id,
	} {
		for _, path := range []string{"/", "/live/@connections/x"} {
			req, _ := http.NewRequest(http.MethodPost, b.url+path, strings.NewReader("{}"))
			req.Header.Set("X-Amz-Target", "secretsmanager.GetSecretValue")
			req.Header.Set("Authorization", signature)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusForbidden {
				t.Errorf("%q at %s: %d", signature, path, res.StatusCode)
			}
		}
	}
	if reached != 1 {
		t.Errorf("reached %d times", reached)
	}
	req, _ := http.NewRequest(http.MethodPost, b.url+"/live/@connections/x", strings.NewReader("{}"))
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.id+"/20261120/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusGone {
		t.Errorf("the management of sockets: %d", res.StatusCode)
	}
}

// TestFunctionsHaveTemplateSizes: each function has a memory and a log group, which give the names
// of its log lines.
func TestFunctionsHaveTemplateSizes(t *testing.T) {
	tpl, err := template.Read("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tpl.Stack = stack
	d, err := tpl.Resolve(tpl.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, fn := range tpl.Functions {
		if got, want := d.LogGroups[fn.ID], "/piloto/piloto/"+fn.Name; got != want {
			t.Errorf("%s logs to %q, want %q", fn.ID, got, want)
		}
	}
	registers, _ := tpl.Function("MCPFunction")
	talks, _ := tpl.Function("ChatFunction")
	if registers.Memory <= talks.Memory {
		t.Errorf("MCPFunction has %d MB of its own, ChatFunction the %d of all", registers.Memory, talks.Memory)
	}
}

func TestOpenRefusesImpossibleLambdaOptions(t *testing.T) {
	// Executables that do not exist, or that are for another machine.
	unfit := func(mode os.FileMode) string {
		folder := t.TempDir()
		read, err := template.Read("../../../template.yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, fn := range read.Functions {
			if err := os.Mkdir(filepath.Join(folder, fn.Name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, fn.Name, bootstrap), []byte("\x7fELF of another machine"), mode); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	for name, c := range map[string]struct {
		o    Options
		says string
	}{
		"another way":           {Options{Lambda: "docker"}, "--lambda=docker"},
		"binaries for nobody":   {Options{Functions: "x"}, "-functions"},
		"a clock of the test's": {Options{Lambda: AsProcess, Clock: boot.Clock}, "clock"},
		"binaries that are not": {Options{Lambda: AsProcess, Functions: t.TempDir()}, "bootstrap"},
		"binaries that may not": {Options{Lambda: AsProcess, Functions: unfit(0o600)}, "permission denied"},
		"binaries that cannot":  {Options{Lambda: AsProcess, Functions: unfit(0o700)}, "AuthorizeFunction does not start"},
	} {
		c.o.Data, c.o.Template, c.o.Log = t.TempDir()+"/data", "../../../template.yaml", io.Discard
		p, err := Open(t.Context(), c.o, Settings{}, "http://127.0.0.1:1")
		if err == nil {
			_ = p.Close()
		}
		if err == nil || !strings.Contains(said(err), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSharedLogKeepsLinesWhole finds races under the race detector.
func TestSharedLogKeepsLinesWhole(t *testing.T) {
	var out strings.Builder
	log := &lockedWriter{to: &out}
	done := make(chan struct{})
	for range 8 {
		go func() {
			for range 50 {
				_, _ = log.Write([]byte("a whole line\n"))
			}
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	if out.String() != strings.Repeat("a whole line\n", 400) {
		t.Error("lines are mixed")
	}
}
