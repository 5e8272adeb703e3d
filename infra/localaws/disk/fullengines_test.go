//go:build unix

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"localaws/stepfunctions"
	"log/slog"
	"net/http"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	engine "localaws/dynamodb"
)

func init() { disk.FullEngines = fullEngines }

// waiting sends the token of each task that it is called for.
type waiting chan string

func (w waiting) Invoke(_ context.Context, _ string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	w <- strings.Trim(string(payload), `"`)
	return []byte("{}"), nil, nil
}

// machine has a task that waits for its token.
const machine = `{"StartAt":"W","States":{"W":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
	"Parameters":{"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:f","Payload.$":"$$.Task.Token"},"End":true}}}`

// fullEnginePair holds both engines, called by unmodified SDK clients, over a disk that fills up.
type fullEnginePair struct {
	store        *disk.Store
	tables       *dynamodb.Client
	states       *sfn.Client
	requests     atomic.Int32 // number of requests
	header       string       // header of the last response
	acknowledged int          // number of acknowledged items
}

func (f *fullEnginePair) clientConfig(h http.Handler) aws.Config {
	return aws.Config{
		Region: "us-east-1", Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://engines.local"),
		HTTPClient: inproc.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.requests.Add(1)
			h.ServeHTTP(w, r)
			f.header = w.Header().Get("X-Localaws-Unwritable")
		})},
	}
}

func (f *fullEnginePair) key(i int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}}
}

func (f *fullEnginePair) put(i int) error {
	item := f.key(i)
	item["v"] = &types.AttributeValueMemberS{Value: strings.Repeat("v", 3000)}
	_, err := f.tables.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: item})
	return err
}

// checkRefused returns nil when do gets the status 507 after one request, without a retry.
func (f *fullEnginePair) checkRefused(do func() error) error {
	f.requests.Store(0)
	err := do()
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPStatusCode() != http.StatusInsufficientStorage {
		return fmt.Errorf("it was answered: %w", err)
	}
	if n := f.requests.Load(); n != 1 {
		return fmt.Errorf("asked %d times", n)
	}
	return nil
}

func fullEngines(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := disk.Open(path, disk.WithLogger(quiet))
	if err != nil {
		return err
	}
	tables, err := engine.Open(store)
	if err != nil {
		return err
	}
	tokens := make(waiting, 10)
	machines, err := stepfunctions.Open(store, tokens, stepfunctions.WithLogger(quiet))
	if err == nil {
		err = machines.Start(context.Background())
	}
	if err != nil {
		return err
	}
	f := &fullEnginePair{store: store}
	f.tables, f.states = dynamodb.NewFromConfig(f.clientConfig(tables)), sfn.NewFromConfig(f.clientConfig(machines))
	if err := errors.Join(f.fill(tokens), machines.Close(), store.Close()); err != nil {
		return err
	}
	return disk.Verify(path)
}

func (f *fullEnginePair) fill(tokens waiting) error {
	ctx := context.Background()
	_, err := f.tables.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("table"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: "HASH"}},
	})
	if err != nil {
		return err
	}
	m, err := f.states.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::123456789012:role/r"), Definition: aws.String(machine)})
	if err != nil {
		return err
	}
	run, err := f.states.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn, Name: aws.String("r")})
	if err != nil {
		return err
	}
	token := <-tokens
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	full := was
	full.Cur = 256 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	for ; f.put(f.acknowledged) == nil; f.acknowledged++ {
	}
	large := strings.Repeat("x", 200_000)
	for what, do := range map[string]func() error{
		"a put": func() error { return f.put(f.acknowledged) },
		"a start": func() error {
			_, err := f.states.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn, Input: aws.String(`"` + large + `"`)})
			return err
		},
		"a wake": func() error {
			_, err := f.states.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(`"` + large + `"`)})
			return err
		},
	} {
		if err := f.checkRefused(do); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := f.checkItems("true"); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := f.put(f.acknowledged); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	f.acknowledged++
	f.store.TimePassed()
	if _, err := f.states.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String(`"done"`)}); err != nil {
		return fmt.Errorf("there is room again: %w", err)
	}
	out, err := f.states.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: run.ExecutionArn})
	if err != nil || out.Status != "SUCCEEDED" {
		return fmt.Errorf("the run that waited is %v: %w", out, err)
	}
	return f.checkItems("")
}

// checkItems returns nil when all acknowledged items are there, and the header of the responses is
// header.
func (f *fullEnginePair) checkItems(header string) error {
	for i := range f.acknowledged + 1 {
		out, err := f.tables.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String("table"), Key: f.key(i), ConsistentRead: aws.Bool(true)})
		if err != nil || (len(out.Item) > 0) != (i < f.acknowledged) || f.header != header {
			return fmt.Errorf("%d of %d: %v, the disk takes no writes: %q: %w", i, f.acknowledged, len(out.Item), f.header, err)
		}
	}
	return nil
}
