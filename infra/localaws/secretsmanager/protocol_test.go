package secretsmanager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"localaws/secretsmanager"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

var ctx = context.Background()

const canary = "CANARY-sk-0123456789"

// call sends a body unchanged.
func call(h http.Handler, operation, body string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "secretsmanager."+operation)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const token = `"ClientRequestToken":"00000000-0000-0000-0000-000000000000"`

func TestRefusalsDoNotRepeatRequests(t *testing.T) {
	e, err := secretsmanager.Open(file(t))
	if err != nil {
		t.Fatal(err)
	}
	create(t, client(e), "k", canary)
	for _, x := range []struct{ operation, body, kind, says string }{
		{"CreateSecret", `{"Name":"a b",` + token + `}`, "ValidationException", "Invalid name."},
		{"CreateSecret", `{"Name":"ñ",` + token + `}`, "ValidationException", "Invalid name."},
		{"CreateSecret", `{"Name":"` + strings.Repeat("n", 513) + `",` + token + `}`, "ValidationException", "'name'"},
		{"CreateSecret", `{"Name":"",` + token + `}`, "ValidationException", "'name'"},
		{"CreateSecret", `{` + token + `}`, "ValidationException", "'name'"},
		{"CreateSecret", `{"Name":"n"}`, "InvalidRequestException", "ClientRequestToken"},
		{"CreateSecret", `{"Name":"n","ClientRequestToken":"short"}`, "ValidationException", "'clientRequestToken'"},
		{"CreateSecret", `{"Name":"n","SecretString":"",` + token + `}`, "ValidationException", "'secretString'"},
		{"CreateSecret", `{"Name":"n","SecretString":"` + canary + strings.Repeat("s", 65536) + `",` + token + `}`, "ValidationException", "'secretString'"},
		{"CreateSecret", `{"Name":"n","SecretBinary":"` + canary + `",` + token + `}`, "InvalidParameterException", "SecretBinary"},
		{"CreateSecret", `{"Name":"n","KmsKeyId":"` + canary + `",` + token + `}`, "InvalidParameterException", "KmsKeyId"},
		{"CreateSecret", `{"Name":"n","SecretString":["` + canary + `"],` + token + `}`, "SerializationException", "SecretString"},
		{"CreateSecret", `{"Name":"n","SecretString":"` + canary + `\ud800",` + token + `}`, "SerializationException", "SecretString"},
		{"CreateSecret", "{\"Name\":\"n\",\"SecretString\":\"" + canary + "\xff\"," + token + "}", "SerializationException", ""},
		{"CreateSecret", `{"Name":"n","` + canary + `":1,` + token + `}`, "SerializationException", ""},
		{"CreateSecret", `{"name":"n",` + token + `}`, "SerializationException", ""},
		{"PutSecretValue", `{"SecretId":"k",` + token + `}`, "ValidationException", "'secretString'"},
		{"PutSecretValue", `{"SecretId":"k","SecretString":"` + canary + `"}`, "InvalidRequestException", "ClientRequestToken"},
		{"PutSecretValue", `{"SecretId":"k","SecretString":"` + canary + `","VersionStages":["AWSPENDING"],` + token + `}`, "InvalidParameterException", "AWSCURRENT"},
		{"PutSecretValue", `{"SecretId":"k","SecretString":"` + canary + `","VersionStages":[],` + token + `}`, "InvalidParameterException", "AWSCURRENT"},
		{"PutSecretValue", `{"SecretId":"` + canary + `","SecretString":"x",` + token + `}`, "ResourceNotFoundException", ""},
		{"UpdateSecret", `{"SecretId":"k","SecretString":"` + canary + `"}`, "InvalidRequestException", "ClientRequestToken"},
		{"DeleteSecret", `{"SecretId":"k","RecoveryWindowInDays":6}`, "InvalidParameterException", "between 7 and 30"},
		{"DeleteSecret", `{"SecretId":"k","RecoveryWindowInDays":31}`, "InvalidParameterException", "between 7 and 30"},
		{"DeleteSecret", `{"SecretId":"k","RecoveryWindowInDays":7.5}`, "SerializationException", "RecoveryWindowInDays"},
		{"DeleteSecret", `{"SecretId":"k","RecoveryWindowInDays":7,"ForceDeleteWithoutRecovery":true}`, "InvalidParameterException", "ForceDeleteWithoutRecovery"},
		{"GetSecretValue", `{"SecretId":"` + canary + ` "}`, "ValidationException", "Invalid name."},
		{"GetSecretValue", `{}`, "ValidationException", "'secretId'"},
		{"GetSecretValue", `{"SecretId":null}`, "ValidationException", "'secretId'"},
		{"GetSecretValue", ``, "ValidationException", "'secretId'"},
		{"GetSecretValue", `null`, "SerializationException", ""},
		{"GetSecretValue", `["` + canary + `"]`, "SerializationException", ""},
		{"GetSecretValue", `{"SecretId":"` + canary, "SerializationException", ""},
		{"GetSecretValue", `{"SecretId":"k"} {}`, "SerializationException", ""},
		{"ListSecrets", `{"MaxResults":0}`, "ValidationException", "'maxResults'"},
		{"ListSecrets", `{"Filters":[{"Key":"name","Values":["` + canary + `"]}]}`, "InvalidParameterException", "Filters"},
		{"RotateSecret", `{"SecretId":"k"}`, "UnknownOperationException", ""},
	} {
		status, out := call(e, x.operation, x.body)
		var printed struct {
			Type    string `json:"__type"`
			Message string
		}
		if err := json.Unmarshal([]byte(out), &printed); err != nil || status != 400 || printed.Type != x.kind || !strings.Contains(printed.Message, x.says) || strings.Contains(out, canary) {
			t.Errorf("%s %.60s: %d %s", x.operation, x.body, status, out)
		}
	}
	if status, _ := call(e, "CreateSecret", `{"Name":"n","SecretString":"`+strings.Repeat("s", 2<<20)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("two megabytes: %d", status)
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 400 {
		t.Errorf("GET: %d", w.Code)
	}
	if got := value(client(e), "k"); got != canary {
		t.Errorf("a refused request changed it to %q", got)
	}
}

func TestTextsOfEverySizeAndAlphabetAreUnchanged(t *testing.T) {
	path := file(t)
	c := open(t, path)
	longest := strings.Repeat("n", 512)
	for name, text := range map[string]string{
		"a": "x", longest: "long name", "/_+=.@-": "every mark", "b": strings.Repeat("s", 65536), "c": strings.Repeat("\x01", 65536),
		"d": `{"KEY":"<&>\"\\ ñ 🔑 ` + "\u2028" + `"}`, "e": " \n\t ",
	} {
		create(t, c, name, text)
		for where, c := range map[string]*sdk.Client{"now": c, "after a restart": open(t, path)} {
			if got := value(c, name); got != text {
				t.Errorf("%.20s %s: %.40q", name, where, got)
			}
		}
	}
}

// TestSecretTextIsOnlyReturnedAsValue checks every failure and every printed form.
func TestSecretTextIsOnlyReturnedAsValue(t *testing.T) {
	var logged bytes.Buffer
	path := file(t)
	e, err := secretsmanager.Open(path, secretsmanager.WithGiven(givenARN, canary),
		secretsmanager.WithLogger(slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	if err != nil {
		t.Fatal(err)
	}
	c := client(e)
	create(t, c, "k", canary)
	var printed []string
	note := func(err error) { printed = append(printed, fmt.Sprintf("%v %+v %#v", err, err, err)) }
	text := aws.String(canary)
	_, err = c.CreateSecret(ctx, &sdk.CreateSecretInput{Name: aws.String("k"), SecretString: text})
	note(err)
	_, err = c.PutSecretValue(ctx, &sdk.PutSecretValueInput{SecretId: aws.String("none"), SecretString: text})
	note(err)
	_, err = c.UpdateSecret(ctx, &sdk.UpdateSecretInput{SecretId: aws.String("platform"), SecretString: text})
	note(err)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(path+"/x", 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = c.PutSecretValue(ctx, &sdk.PutSecretValueInput{SecretId: aws.String("k"), SecretString: text})
	note(err)
	for _, operation := range []string{"DescribeSecret", "DeleteSecret", "RestoreSecret", "ListSecrets"} {
		body := `{"SecretId":"platform"}`
		if operation == "ListSecrets" {
			body = "{}"
		}
		_, out := call(e, operation, body)
		printed = append(printed, out)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, e))
	}
	printed = append(printed, logged.String())
	if !strings.Contains(logged.String(), "secretsmanager.failed") {
		t.Error("a write that failed was not logged")
	}
	for _, s := range printed {
		for _, bad := range []string{canary, fmt.Sprintf("%x", canary)} {
			if strings.Contains(s, bad) {
				t.Errorf("it is in %.300s", s)
			}
		}
	}
}

// FuzzRequest checks that no request breaks the engine, returns a value of another secret, or
// leaves a file that cannot be opened again.
func FuzzRequest(f *testing.F) {
	operations := []string{"CreateSecret", "PutSecretValue", "UpdateSecret", "GetSecretValue", "DescribeSecret", "DeleteSecret", "RestoreSecret", "ListSecrets", ""}
	for i, body := range []string{
		`{"Name":"n","SecretString":"s","Description":"d",` + token + `}`,
		`{"SecretId":"k","SecretString":"s","VersionStages":["AWSCURRENT"],` + token + `}`,
		`{"SecretId":"k","Description":"d","SecretString":"s",` + token + `}`,
		`{"SecretId":"k","VersionStage":"AWSPREVIOUS"}`,
		`{"SecretId":"arn:aws:secretsmanager:us-east-1:123456789012:secret:k"}`,
		`{"SecretId":"k","RecoveryWindowInDays":7}`,
		`{"SecretId":"k"}`,
		`{"MaxResults":1,"NextToken":"aw","IncludePlannedDeletion":true}`,
	} {
		f.Add(byte(i), []byte(body))
	}
	f.Add(byte(3), []byte(`{"SecretId":"arn:"}`))
	f.Add(byte(3), []byte(`{"SecretId":null,"SecretId":"k"}`))
	f.Add(byte(1), []byte(`{"SecretId":"k","SecretString":"\ud83d"}`))
	f.Add(byte(0), bytes.Repeat([]byte("["), 20000))
	f.Fuzz(func(t *testing.T, operation byte, body []byte) {
		path := file(t)
		e, err := secretsmanager.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		create(t, client(e), "k", canary)
		name := operations[int(operation)%len(operations)]
		for range 2 {
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
			r.Header.Set("X-Amz-Target", "secretsmanager."+name)
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			out, _ := io.ReadAll(w.Body)
			if w.Code >= 500 || !json.Valid(out) {
				t.Fatalf("%s %q: %d %q", name, body, w.Code, out)
			}
			if name != "GetSecretValue" && bytes.Contains(out, []byte(canary)) && !bytes.Contains(body, []byte(canary)) {
				t.Fatalf("%s %q told %q", name, body, out)
			}
		}
		if _, err := secretsmanager.Open(path); err != nil {
			t.Fatalf("%s %q left a file that does not open: %v", name, body, err)
		}
	})
}
