// Package tables contains the checks of DynamoDB's behaviour: they use the production SDK client
// (and a few raw requests) and run against any endpoint.
//
// These rules hold:
//
//   - A check is independent: it uses keys and tables of its own, so that checks
//     may run in any order and concurrently.
//   - A check expects the behaviour of AWS. A rule of this project's engine alone
//     is a test of the engine, not a check.
//   - A check's name is unique, and does not change: known differences refer to it.
package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Check is one rule of the service.
type Check struct {
	Area string // a row of the conformance table
	Name string
	Run  func(ctx context.Context, e *Env) error // nil when the rule holds
}

// Checks lists every check, by area.
func Checks() []Check {
	return slices.Concat(
		tableChecks(), alterChecks(), descriptionChecks(), expiryChecks(),
		keyChecks(), itemChecks(), numberChecks(), sizeChecks(),
		putChecks(), conditionChecks(), updateChecks(), returnChecks(), projectionChecks(),
		queryChecks(), pagingChecks(), indexChecks(), scanChecks(),
		batchChecks(), transactionChecks(), readTransactionChecks(), contentionChecks(),
		legacyChecks(), capacityChecks(), protocolChecks(), boundChecks(),
	)
}

// Env is one endpoint under test, with the tables that the checks share.
type Env struct {
	Client *sdk.Client

	http   aws.HTTPClient
	url    string
	prefix string
	keys   atomic.Int64
	mu     sync.Mutex
	seeds  map[string]func() error
}

// Open creates the shared tables at an endpoint, under names of their own. h carries the requests;
// nil is the network.
func Open(ctx context.Context, url string, h aws.HTTPClient) (*Env, error) {
	if h == nil {
		h = &http.Client{Timeout: time.Minute}
	}
	e := &Env{Client: Client(url, h), http: h, url: url, prefix: fmt.Sprintf("c%08x-", rand.Uint32()), seeds: map[string]func() error{}}
	for name, kind := range map[string]types.ScalarAttributeType{"hash": "", "range": "S", "number": "N", "binary": "B"} {
		in := plainTable(e.table(name))
		if kind != "" {
			in.AttributeDefinitions = append(in.AttributeDefinitions, definition("sk", kind))
			in.KeySchema = append(in.KeySchema, element("sk", "RANGE"))
		}
		if err := e.create(ctx, in); err != nil {
			return nil, err
		}
	}
	return e, e.create(ctx, Indexed(*e.table("indexed")))
}

// Client returns an SDK client without retries; a nil h is the network.
func Client(url string, h aws.HTTPClient, options ...func(*sdk.Options)) *sdk.Client {
	if h == nil {
		h = &http.Client{Timeout: time.Minute}
	}
	return sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: &url, HTTPClient: h, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, options...)
}

// Unsigned turns signing off, as for requests that stay in the process.
func Unsigned(o *sdk.Options) { o.Credentials = aws.AnonymousCredentials{} }

func (e *Env) table(name string) *string { return aws.String(e.prefix + name) }

func (e *Env) create(ctx context.Context, in *sdk.CreateTableInput) error {
	if _, err := e.Client.CreateTable(ctx, in); err != nil {
		return err
	}
	return sdk.NewTableExistsWaiter(e.Client, func(o *sdk.TableExistsWaiterOptions) { o.MinDelay = 50 * time.Millisecond }).
		Wait(ctx, &sdk.DescribeTableInput{TableName: in.TableName}, time.Minute)
}

// once runs the set-up that several checks share.
func (e *Env) once(name string, seed func() error) error {
	e.mu.Lock()
	f, ok := e.seeds[name]
	if !ok {
		f = sync.OnceValue(seed)
		e.seeds[name] = f
	}
	e.mu.Unlock()
	return f()
}

// answer is the response to a raw request.
type answer struct {
	status int
	header http.Header
	body   string
}

// post sends a raw request, which the SDK would never send.
func (t *try) post(target, body string) answer {
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.url, strings.NewReader(body))
	t.must(err)
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00")
	res, err := t.http.Do(req)
	t.must(err)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	t.must(err)
	return answer{res.StatusCode, res.Header, string(raw)}
}

// try is one running check.
type try struct {
	*Env
	ctx    context.Context //nolint:containedctx // a try is one call
	mark   string          // unique to this try
	mu     sync.Mutex
	failed []string
}

// stop ends a check that cannot continue.
type stop struct{}

// check returns a check with a body that reports faults to its try.
func check(area, name string, body func(t *try)) Check {
	return Check{Area: area, Name: strings.TrimSpace(name), Run: func(ctx context.Context, e *Env) error {
		t := &try{Env: e, ctx: ctx}
		t.mark = t.id()
		func() {
			defer func() {
				// An endpoint may lack any feature: a panic of a check is a finding.
				p := recover()
				if _, ours := p.(stop); p != nil && !ours {
					t.errorf("panic: %v", p)
				}
			}()
			body(t)
		}()
		if t.failed == nil {
			return nil
		}
		return errors.New(strings.Join(t.failed, "\n"))
	}}
}

func (t *try) errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = append(t.failed, fmt.Sprintf(format, args...))
}

// must ends the check when a required call fails.
func (t *try) must(err error) {
	if err != nil {
		t.errorf("%v", err)
		panic(stop{})
	}
}

func (t *try) expect(got, want string) {
	if !matches(got, want) {
		t.errorf("got %.2000s\nwant %.2000s", got, want)
	}
}

// matches compares a result with the wanted one; a wanted failure may leave out the end of the
// message.
func matches(got, want string) bool {
	if strings.HasPrefix(want, "!") {
		return strings.HasPrefix(got, want)
	}
	return got == want
}

// Said returns the rendered result, or "!Type: message".
func Said(rendered string, err error) string {
	var failed smithy.APIError
	if errors.As(err, &failed) {
		return "!" + failed.ErrorCode() + ": " + failed.ErrorMessage()
	}
	if err != nil {
		return "!" + err.Error()
	}
	return rendered
}

// id returns a partition key of the check's own.
func (t *try) id() string { return fmt.Sprintf("k%d", t.keys.Add(1)) }

// put stores an item under a partition key.
func (t *try) put(table, pk, text string) {
	_, err := t.Client.PutItem(t.ctx, &sdk.PutItemInput{TableName: t.table(table), Item: Key(pk, text)})
	t.must(err)
}

// get returns the item under a key, without its partition key.
func (t *try) get(table, pk, rest string) string {
	out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: t.table(table), Key: Key(pk, rest), ConsistentRead: aws.Bool(true)})
	t.must(err)
	delete(out.Item, "pk")
	return Show(out.Item)
}

// make creates a table of the check's own.
func (t *try) make(in *sdk.CreateTableInput) { t.must(t.create(t.ctx, in)) }

// refusal is a request with its expected error.
type refusal[In any] struct {
	in   In
	want string
}

// refusals makes a check of each row. Rows are built once for their names, without an endpoint, and
// again by each check for its own row.
func refusals[In any](area string, rows func(t *try) map[string]refusal[In], call func(t *try, in In) string) []Check {
	var out []Check
	blank := &try{Env: &Env{prefix: "blank-"}}
	for _, name := range slices.Sorted(maps.Keys(rows(blank))) {
		out = append(out, check(area, name, func(t *try) {
			r := rows(t)[name]
			t.expect(call(t, r.in), r.want)
		}))
	}
	return out
}

// as expects a failure of a type.
func as[T error](t *try, err error) {
	var want T
	if !errors.As(err, &want) {
		t.errorf("%v is no %T", err, want)
	}
}
