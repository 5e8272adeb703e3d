package auth_test

import (
	"context"
	"encoding/base64"
	"errors"
	"localaws/inproc"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	engine "localaws/secretsmanager"
	"piloto/infra/local/fixture"
	"piloto/internal/access/auth"
	"piloto/internal/ground/ids"
	"piloto/internal/models/secrets"
)

// example is the test vector of the implementations of Standard Webhooks.
var example = struct {
	secret, id, body, signature string
	at                          time.Time
}{
	"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`,
	"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", time.Unix(1614265330, 0),
}

func TestSignaturesMatchStandardWebhooks(t *testing.T) {
	got, err := auth.Delivery{ID: example.id, Body: []byte(example.body)}.Sign(example.secret, example.at)
	if err != nil || got != example.signature {
		t.Errorf("%s %v", got, err)
	}
	d := auth.Delivery{ID: example.id, Timestamp: "1614265330", Body: []byte(example.body), Signature: got}
	if err := d.Verify(example.secret, example.at); err != nil {
		t.Error(err)
	}
}

func TestVerifyRefusesUnsignedDelivery(t *testing.T) {
	type signed struct {
		secret, id, timestamp, body, signature string
		at                                     time.Time
	}
	good := signed{example.secret, example.id, "1614265330", example.body, example.signature, example.at}
	other := auth.NewWebhookSecret()
	for name, c := range map[string]struct {
		change func(*signed)
		ok     bool
	}{
		"as it was":            {func(*signed) {}, true},
		"five minutes later":   {func(s *signed) { s.at = s.at.Add(5 * time.Minute) }, true},
		"five minutes earlier": {func(s *signed) { s.at = s.at.Add(-5 * time.Minute) }, true},
		"a moment too late":    {func(s *signed) { s.at = s.at.Add(5*time.Minute + 1) }, false},
		"a moment too early":   {func(s *signed) { s.at = s.at.Add(-5*time.Minute - 1) }, false},
		"years later":          {func(s *signed) { s.at = s.at.AddDate(300, 0, 0) }, false},
		"one byte of the body": {func(s *signed) { s.body = strings.Replace(s.body, "4", "5", 1) }, false},
		"one byte more":        {func(s *signed) { s.body += "\n" }, false},
		"no body":              {func(s *signed) { s.body = "" }, false},
		"one letter's case":    {func(s *signed) { s.id = strings.ToLower(s.id) }, false},
		"no id":                {func(s *signed) { s.id = "" }, false},
		"another time":         {func(s *signed) { s.timestamp = "1614265331" }, false},
		"the same time, odd":   {func(s *signed) { s.timestamp = "01614265330" }, false},
		"no time":              {func(s *signed) { s.timestamp = "" }, false},
		"a time with a point":  {func(s *signed) { s.timestamp = "1614265330.0" }, false},
		"a negative time":      {func(s *signed) { s.timestamp = "-161426533" }, false},
		"a huge time":          {func(s *signed) { s.timestamp = strings.Repeat("9", 30) }, false},
		"another secret":       {func(s *signed) { s.secret = other }, false},
		"the secret's text":    {func(s *signed) { s.secret = strings.TrimPrefix(s.secret, "whsec_") }, false},
		"a short secret":       {func(s *signed) { s.secret = "whsec_AAAA" }, false},
		"no secret":            {func(s *signed) { s.secret = "" }, false},
		"second of two":        {func(s *signed) { s.signature = "v1,AAAA " + s.signature }, true},
		"behind others":        {func(s *signed) { s.signature = "v1a,x v2, , v1 " + s.signature }, true},
		"twice":                {func(s *signed) { s.signature += " " + s.signature }, true},
		"with a comma":         {func(s *signed) { s.signature = "v1,AAAA," + s.signature }, false},
		"in another version":   {func(s *signed) { s.signature = "v2" + s.signature[2:] }, false},
		"in capitals":          {func(s *signed) { s.signature = "V1" + s.signature[2:] }, false},
		"without the padding":  {func(s *signed) { s.signature = strings.TrimSuffix(s.signature, "=") }, false},
		"with odd last bits":   {func(s *signed) { s.signature = strings.Replace(s.signature, "E=", "F=", 1) }, false},
		"empty in version 1":   {func(s *signed) { s.signature = "v1," }, false},
		"the half of it":       {func(s *signed) { s.signature = s.signature[:24] }, false},
		"over the limit":       {func(s *signed) { s.signature += strings.Repeat(" v1,A", 500) }, false},
	} {
		s := good
		c.change(&s)
		err := auth.Delivery{ID: s.id, Timestamp: s.timestamp, Body: []byte(s.body), Signature: s.signature}.Verify(s.secret, s.at)
		if c.ok && err != nil || !c.ok && !errors.Is(err, auth.ErrRequired) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), s.signature) && s.signature != "" || strings.Contains(err.Error(), "MfKQ")) {
			t.Errorf("%s: the reason holds it: %v", name, err)
		}
	}
}

// TestDeliveryCannotBeReadAsAnother: its parts are joined by dots.
func TestDeliveryCannotBeReadAsAnother(t *testing.T) {
	at := time.Unix(1700000000, 0)
	signature, err := auth.Delivery{ID: "a", Body: []byte(`1700000001.{}`)}.Sign(example.secret, at)
	if err != nil {
		t.Fatal(err)
	}
	d := auth.Delivery{ID: "a.1700000000", Timestamp: "1700000001", Body: []byte("{}"), Signature: signature}
	if err := d.Verify(example.secret, at); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("%v", err)
	}
}

func TestWebhookSecretsAreRandomAndInStandardFormat(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret := auth.NewWebhookSecret()
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(raw) < 32 || strings.ContainsFunc(string(raw), func(r rune) bool { return r <= ' ' || r > '~' }) || !strings.HasPrefix(secret, "whsec_") || seen[secret] {
			t.Fatalf("%s %v", secret, err)
		}
		seen[secret] = true
	}
	for _, secret := range []string{"", "whsec_", "whsec_AAAA", "secret", "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65))} {
		if _, err := (auth.Delivery{ID: "d"}.Sign(secret, now)); err == nil || secret != "" && strings.Contains(err.Error(), secret+" ") && len(secret) > 6 {
			t.Errorf("%q: %v", secret, err)
		}
	}
}

// FuzzVerifyWebhook: only a signature of Sign is valid.
func FuzzVerifyWebhook(f *testing.F) {
	f.Add(example.id, "1614265330", []byte(example.body), example.signature)
	f.Add("a.b", "1614265330", []byte("1.{}"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1a,x")
	f.Add("", "-1", []byte(nil), " v1, v1,= ,")
	f.Fuzz(func(t *testing.T, id, timestamp string, body []byte, signature string) {
		err := auth.Delivery{ID: id, Timestamp: timestamp, Body: body, Signature: signature}.Verify(example.secret, example.at)
		if err != nil {
			if !errors.Is(err, auth.ErrRequired) {
				t.Fatal(err)
			}
			return
		}
		seconds, err := strconv.ParseInt(timestamp, 10, 64)
		if err != nil {
			t.Fatalf("let in at %q", timestamp)
		}
		want, _ := auth.Delivery{ID: id, Body: body}.Sign(example.secret, time.Unix(seconds, 0))
		if !slices.Contains(strings.Split(signature, " "), want) || strings.Contains(id, ".") {
			t.Fatalf("let in: %q %q %q %q", id, timestamp, body, signature)
		}
	})
}

// webhookFixture is a Webhooks over a table and a secrets manager.
type webhookFixture struct {
	auth.Webhooks
	manager *secrets.Manager
	way     *failingClient
}

// failingClient is a client of the secrets manager whose requests can fail.
type failingClient struct {
	aws.HTTPClient
	mu sync.Mutex
	on string // suffix of an operation's name
}

func (f *failingClient) fail(on string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
}

func (f *failingClient) Do(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on != "" && strings.HasSuffix(r.Header.Get("X-Amz-Target"), f.on) {
		return nil, errors.New("the way is cut")
	}
	return f.HTTPClient.Do(r)
}

func newWebhookFixture(t *testing.T, store auth.WebhookStore, clock func() time.Time) *webhookFixture {
	t.Helper()
	e, err := engine.Open(filepath.Join(t.TempDir(), "secrets.json"))
	if err != nil {
		t.Fatal(err)
	}
	way := &failingClient{HTTPClient: inproc.Transport{Handler: e}}
	manager := secrets.NewManager(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: way, BaseEndpoint: aws.String("http://engine.test"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	}, "piloto")
	return &webhookFixture{
		auth.Webhooks{Store: store, Secrets: secrets.NewWebhooks(manager, clock), NewID: ids.NewSource(nil).New, Now: clock}, manager, way,
	}
}

var (
	ana  = auth.Principal{Account: "acme", User: "ana", Scopes: auth.Scopes()}
	body = []byte(`{"message":"hola"}`)
)

func deliver(t *testing.T, webhook, secret, id string) auth.Delivery {
	t.Helper()
	signature, err := auth.Delivery{ID: id, Body: body}.Sign(secret, now)
	if err != nil {
		t.Fatal(err)
	}
	return auth.Delivery{Webhook: webhook, ID: id, Timestamp: strconv.FormatInt(now.Unix(), 10), Signature: signature, Body: body}
}

func fixedClock() time.Time { return now }

func TestWebhookActsAsItsCreatorUntilDeleted(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	w, secret, err := o.Create(ctx, ana, "n8n")
	if err != nil || w.Account != "acme" || w.User != "ana" || w.Name != "n8n" || !slices.Equal(w.Scopes, []auth.Scope{auth.ScopeChat}) || !w.CreatedAt.Equal(now) {
		t.Fatalf("%+v %v", w, err)
	}
	d := deliver(t, w.ID, secret, "d1")
	p, err := o.Authenticate(ctx, d)
	if err != nil || p.Account != "acme" || p.User != "ana" || !p.Allows(auth.ScopeChat) || p.Allows(auth.ScopeAdmin) || p.Allows(auth.ScopeBilling) {
		t.Errorf("%+v %v", p, err)
	}
	if err := o.Delete(ctx, "other", w.ID); !errors.Is(err, auth.ErrWebhookNotFound) {
		t.Errorf("removed by another account: %v", err)
	}
	if _, err := o.Authenticate(ctx, d); err != nil {
		t.Errorf("and it is gone: %v", err)
	}
	far := newWebhookFixture(t, o.Store, fixedClock) // another function, which has the secret in its cache
	far.Secrets = secrets.NewWebhooks(o.manager, fixedClock)
	if _, err := far.Authenticate(ctx, d); err != nil {
		t.Error(err)
	}
	if err := o.Delete(ctx, "acme", w.ID); err != nil {
		t.Error(err)
	}
	for name, one := range map[string]*webhookFixture{"where it was removed": o, "elsewhere": far} {
		if p, err := one.Authenticate(ctx, d); !errors.Is(err, auth.ErrRequired) || p.Account != "" {
			t.Errorf("%s: %+v %v", name, p, err)
		}
	}
	if _, err := o.manager.Get(ctx, o.manager.WebhookID("acme", w.ID), "SECRET"); !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("its secret: %v", err)
	}
}

// TestConcurrentCreatesStayWithinLimit: refused requests leave no data.
func TestConcurrentCreatesStayWithinLimit(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	for range auth.MaxWebhooks - 2 {
		if _, _, err := o.Create(ctx, ana, "n8n"); err != nil {
			t.Fatal(err)
		}
	}
	var start, done sync.WaitGroup
	start.Add(1)
	for range 20 {
		done.Go(func() {
			start.Wait()
			if w, _, err := o.Create(ctx, ana, "n8n"); err != nil && (!errors.Is(err, auth.ErrTooManyWebhooks) || w.ID != "") {
				t.Errorf("%+v %v", w, err)
			}
		})
	}
	start.Done()
	done.Wait()
	if list, err := o.List(ctx, "acme"); err != nil || len(list) > auth.MaxWebhooks || len(list) < auth.MaxWebhooks-2 {
		t.Errorf("%d webhooks, %v", len(list), err)
	}
}

func TestWebhooksOfAccountsAreSeparate(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	ours, secret, err := o.Create(ctx, ana, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	theirs, _, err := o.Create(ctx, auth.Principal{Account: "other", User: "eva"}, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := o.Authenticate(ctx, deliver(t, theirs.ID, secret, "d1")); !errors.Is(err, auth.ErrRequired) {
		t.Errorf("our secret signs for theirs: %+v %v", p, err)
	}
	if list, err := o.List(ctx, "acme"); err != nil || len(list) != 1 || list[0].ID != ours.ID {
		t.Errorf("%+v %v", list, err)
	}
}

func TestStoreErrorIsUndecided(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	w, secret, err := o.Create(ctx, ana, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	o.way.fail("GetSecretValue")
	if _, err := o.Authenticate(ctx, deliver(t, w.ID, secret, "d1")); !errors.Is(err, auth.ErrUndecided) || errors.Is(err, auth.ErrRequired) {
		t.Errorf("secrets: %v", err)
	}
	o.way.fail("")
	if _, err := o.Authenticate(ctx, deliver(t, w.ID, secret, "d1")); err != nil {
		t.Errorf("and once it can: %v", err)
	}
	o.Store = brokenWebhookStore{o.Store}
	if _, err := o.Authenticate(ctx, deliver(t, w.ID, secret, "d1")); !errors.Is(err, auth.ErrUndecided) {
		t.Errorf("table: %v", err)
	}
}

// brokenWebhookStore is a store that cannot answer.
type brokenWebhookStore struct{ auth.WebhookStore }

func (brokenWebhookStore) Webhook(context.Context, string) (auth.Webhook, error) {
	return auth.Webhook{}, errors.New("throttled")
}

func TestWebhookWithoutStoredSecretIsNotCreated(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	o.way.fail("PutSecretValue")
	if w, secret, err := o.Create(ctx, ana, "n8n"); err == nil || secret != "" || w.ID != "" {
		t.Errorf("%+v %q %v", w, secret, err)
	}
	if list, err := o.List(ctx, "acme"); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestFailedDeleteCanBeRetried(t *testing.T) {
	o := newWebhookFixture(t, fixture.Table(t).Access, fixedClock)
	w, _, err := o.Create(ctx, ana, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	o.way.fail("DeleteSecret")
	if err := o.Delete(ctx, "acme", w.ID); err == nil {
		t.Error("it was said to be removed")
	}
	o.way.fail("")
	for _, want := range []error{nil, auth.ErrWebhookNotFound} {
		if err := o.Delete(ctx, "acme", w.ID); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestTableDumpContainsNoWebhookSecret: I14.
func TestTableDumpContainsNoWebhookSecret(t *testing.T) {
	table, config, name := fixture.Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	o := newWebhookFixture(t, table.Access, fixedClock)
	w, secret, err := o.Create(ctx, ana, "n8n")
	if err != nil {
		t.Fatal(err)
	}
	out, err := dynamodb.NewFromConfig(config).Scan(ctx, &dynamodb.ScanInput{TableName: &name})
	if err != nil || len(out.Items) != 2 {
		t.Fatalf("%d rows, %v", len(out.Items), err)
	}
	named := false
	for _, it := range out.Items {
		for field, v := range it {
			text, _ := v.(*types.AttributeValueMemberS)
			if text == nil {
				continue
			}
			named = named || text.Value == w.ID
			if strings.Contains(text.Value, secret[6:20]) || strings.HasPrefix(text.Value, "whsec_") {
				t.Errorf("%s: %s", field, text.Value)
			}
		}
	}
	if !named {
		t.Error("the scan did not find the webhook")
	}
}
