package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"localaws/inproc"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	engine "localaws/secretsmanager"
	"piloto/internal/models/secrets"
)

const canary = "CANARY-sk-0123456789"

// config points the production client at a handler in this process.
func config(h http.Handler) aws.Config {
	return aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: inproc.Transport{Handler: h}, BaseEndpoint: aws.String("http://engine.test"),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}
}

func world(t *testing.T, options ...engine.Option) (*secrets.Manager, *secretsmanager.Client) {
	t.Helper()
	e, err := engine.Open(filepath.Join(t.TempDir(), "secrets.json"), options...)
	if err != nil {
		t.Fatal(err)
	}
	return secrets.NewManager(config(e), "piloto"), secretsmanager.NewFromConfig(config(e))
}

func mustPut(t *testing.T, m *secrets.Manager, id string, values map[string]string) {
	t.Helper()
	if err := m.Put(t.Context(), id, values); err != nil {
		t.Fatal(err)
	}
}

// has returns the value under KEY in a secret, "none", or the error.
func has(m *secrets.Manager, id string) string {
	got, err := m.Get(context.Background(), id, "KEY")
	if errors.Is(err, secrets.ErrNotFound) {
		return "none"
	}
	if err != nil {
		return err.Error()
	}
	return got
}

func TestGetReturnsTheValuesOfPut(t *testing.T) {
	m, c := world(t)
	if got := has(m, "k"); got != "none" {
		t.Errorf("before: %s", got)
	}
	mustPut(t, m, "k", map[string]string{"KEY": "one", "OTHER": "ñ\"\\<🔑"})
	d, err := c.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"k", *d.ARN} {
		if got := has(m, id); got != "one" {
			t.Errorf("%s: %s", id, got)
		}
	}
	if got, err := m.Get(t.Context(), "k", "OTHER"); err != nil || got != "ñ\"\\<🔑" {
		t.Errorf("%q %v", got, err)
	}
	for range 2 {
		mustPut(t, m, *d.ARN, map[string]string{"KEY": "two"}) // replaces the whole secret
		if _, err := m.Get(t.Context(), "k", "OTHER"); has(m, "k") != "two" || !errors.Is(err, secrets.ErrNotFound) {
			t.Errorf("%s %v", has(m, "k"), err)
		}
	}
	for range 2 {
		if err := m.Delete(t.Context(), "k"); err != nil || has(m, "k") != "none" {
			t.Errorf("deleted: %v, %s", err, has(m, "k"))
		}
	}
	if err := m.Put(t.Context(), *d.ARN, map[string]string{"KEY": "x"}); !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("an ARN of none: %v", err)
	}
	if err := m.Put(t.Context(), "k", nil); err == nil {
		t.Error("nothing was put")
	}
}

func TestASecretMustBeAnObjectOfStrings(t *testing.T) {
	m, c := world(t)
	for i, text := range []string{canary, `"` + canary + `"`, `["` + canary + `"]`, `{"KEY":1}`, `{"KEY":"` + canary, `null`, `{}`, `{"KEY":""}`} {
		id := fmt.Sprint("k", i)
		if _, err := c.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &id, SecretString: &text}); err != nil {
			t.Fatal(err)
		}
		got, err := m.Get(t.Context(), id, "KEY")
		if missing := i >= 5; got != "" || err == nil || errors.Is(err, secrets.ErrNotFound) != missing || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
}

func TestPutRestoresASecretThatIsScheduledForDeletion(t *testing.T) {
	m, c := world(t)
	mustPut(t, m, "k", map[string]string{"KEY": "one"})
	if _, err := c.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("k")}); err != nil {
		t.Fatal(err)
	}
	if got := has(m, "k"); got != "none" {
		t.Errorf("one that is scheduled for deletion has %s", got)
	}
	if mustPut(t, m, "k", map[string]string{"KEY": "two"}); has(m, "k") != "two" {
		t.Error(has(m, "k"))
	}
	if _, err := c.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: aws.String("k")}); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if mustPut(t, m, "k", map[string]string{"KEY": "three"}); has(m, "k") != "three" {
		t.Error(has(m, "k"))
	}
}

func TestPutsDeletesAndReadsAtOnceAllSucceed(t *testing.T) {
	m, _ := world(t)
	var done sync.WaitGroup
	for i := range 24 {
		done.Go(func() {
			var err error
			switch i % 3 {
			case 0:
				err = m.Delete(t.Context(), "k")
			case 1:
				err = m.Put(t.Context(), "k", map[string]string{"KEY": "v"})
			default:
				if got := has(m, "k"); got != "v" && got != "none" {
					err = errors.New(got)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if mustPut(t, m, "k", map[string]string{"KEY": "v"}); has(m, "k") != "v" {
		t.Error(has(m, "k"))
	}
}

// answers is a service with scripted responses for each operation: an error's type and message, or "" for success.
// The last response repeats.
type answers struct {
	mu    sync.Mutex
	next  map[string][]string
	asked []string
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "secretsmanager.")
	a.asked = append(a.asked, operation)
	list := a.next[operation]
	if len(list) > 1 {
		a.next[operation] = list[1:]
	}
	if len(list) == 0 || list[0] == "" {
		_, _ = w.Write([]byte("{}"))
		return
	}
	kind, words, _ := strings.Cut(list[0], ": ")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": kind, "Message": words})
}

const (
	isMissing   = "ResourceNotFoundException: Secrets Manager can't find the specified secret."
	scheduled   = "InvalidRequestException: You can't create this secret because a secret with this name is already scheduled for deletion."
	deleted     = "InvalidRequestException: You can't perform this operation on the secret because it was deleted."
	isDuplicate = "ResourceExistsException: The operation failed because the secret k already exists."
	denied      = "AccessDeniedException: User is not authorized"
)

// TestPutWaitsForADeletion: AWS deletes in the background, and for a while the secret neither exists nor is gone.
func TestPutWaitsForADeletion(t *testing.T) {
	for name, x := range map[string]struct {
		next  map[string][]string
		asked string
		fails string
		after time.Duration
	}{
		"there":          {map[string][]string{}, "Put", "", 0},
		"not there":      {map[string][]string{"PutSecretValue": {isMissing}}, "Put Create", "", 0},
		"a race":         {map[string][]string{"PutSecretValue": {isMissing, ""}, "CreateSecret": {isDuplicate}}, "Put Create Put", "", 50 * time.Millisecond},
		"scheduled":      {map[string][]string{"PutSecretValue": {isMissing, ""}, "CreateSecret": {scheduled}}, "Put Create Restore Put", "", 50 * time.Millisecond},
		"almost gone":    {map[string][]string{"PutSecretValue": {isMissing}, "CreateSecret": {deleted, deleted, ""}, "RestoreSecret": {isMissing}}, "Put Create Restore Put Create Restore Put Create", "", 150 * time.Millisecond},
		"never gone":     {map[string][]string{"PutSecretValue": {deleted}, "RestoreSecret": {deleted}}, strings.TrimSpace(strings.Repeat("Put Restore ", 8)), "still being deleted", 6350 * time.Millisecond},
		"denied":         {map[string][]string{"PutSecretValue": {denied}}, "Put", "PutSecretValue of k: AccessDeniedException", 0},
		"denied create":  {map[string][]string{"PutSecretValue": {isMissing}, "CreateSecret": {denied}}, "Put Create", "CreateSecret of k: AccessDeniedException", 0},
		"denied restore": {map[string][]string{"PutSecretValue": {deleted}, "RestoreSecret": {denied}}, "Put Restore", "RestoreSecret of k: AccessDeniedException", 0},
		"another state":  {map[string][]string{"PutSecretValue": {"InvalidRequestException: You can't " + canary}}, "Put", "PutSecretValue of k: InvalidRequestException", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, began := &answers{next: x.next}, time.Now()
				err := secrets.NewManager(config(service), "p").Put(t.Context(), "k", map[string]string{"KEY": canary})
				asked := strings.NewReplacer("SecretValue", "", "Secret", "").Replace(strings.Join(service.asked, " "))
				if asked != x.asked || time.Since(began) != x.after {
					t.Errorf("it asked %s, in %s", asked, time.Since(began))
				}
				if x.fails == "" && err != nil || x.fails != "" && (err == nil || !strings.Contains(err.Error(), x.fails) || strings.Contains(err.Error(), canary)) {
					t.Errorf("it said %v", err)
				}
			})
		})
	}
}

func TestPutEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		service := &answers{next: map[string][]string{"PutSecretValue": {deleted}, "RestoreSecret": {isMissing}}}
		began := time.Now()
		err := secrets.NewManager(config(service), "p").Put(ctx, "k", map[string]string{"KEY": canary})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestNoErrorRepeatsTheServicesMessage: the service repeats the secret in every place that an error could copy.
func TestNoErrorRepeatsTheServicesMessage(t *testing.T) {
	raw := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Amzn-Errortype", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, h := range map[string]http.Handler{
		"in the message": raw(400, "ValidationException", `{"__type":"ValidationException","Message":"Value '`+canary+`' at 'secretString'"}`),
		"in the type":    raw(400, canary, `{"__type":"`+canary+`","Message":"x"}`),
		"in the body":    raw(500, "", canary),
		"in an answer":   raw(200, "", `{"SecretString":["`+canary+`"],"ARN":"`+canary),
		"in a type":      raw(200, "", `{"SecretString":`+canary+`}`),
		"in a panic":     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(canary) }),
		"in a state":     raw(400, "InvalidRequestException", `{"Message":"`+canary+`"}`),
	} {
		m := secrets.NewManager(config(h), "p")
		_, got := m.Get(t.Context(), "k", "KEY")
		for operation, err := range map[string]error{
			"get": got, "put": m.Put(t.Context(), "k", map[string]string{"KEY": canary}), "delete": m.Delete(t.Context(), "k"),
		} {
			if err == nil {
				if operation == "get" {
					t.Errorf("%s %s: no error", name, operation)
				}
				continue
			}
			for ; err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v %#v %s", err, err, err, err); strings.Contains(text, canary) || !strings.Contains(text, "k") {
					t.Errorf("%s %s: %s", name, operation, text)
				}
			}
		}
	}
}

func TestAnUnreachableServiceIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	c := config(nil)
	c.HTTPClient, c.BaseEndpoint = nil, &url
	_, err := secrets.NewManager(c, "p").Get(t.Context(), "k", "KEY")
	var network *net.OpError
	if !errors.As(err, &network) || errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("refused: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := secrets.NewManager(c, "p").Delete(ended, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	type holder struct{ Key secrets.Key }
	key, logged := secrets.Key(canary), &bytes.Buffer{}
	slog.New(slog.NewJSONHandler(logged, nil)).Info("x", "key", key, "held", holder{key}, "pointer", &key)
	raw, err := json.Marshal([]any{key, &key, holder{key}, map[string]secrets.Key{"k": key}})
	if err != nil {
		t.Fatal(err)
	}
	out := logged.String() + string(raw)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%08b"} {
		out += fmt.Sprintf(verb+verb+verb+verb, key, holder{key}, &holder{key}, []secrets.Key{key})
	}
	for _, bad := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary)} {
		if strings.Contains(out, bad) {
			t.Errorf("%s is in %s", bad, out)
		}
	}
	if key.Reveal() != canary {
		t.Error("it does not reveal itself")
	}
}
