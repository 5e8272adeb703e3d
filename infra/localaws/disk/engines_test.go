package disk_test

import (
	"context"
	"errors"
	"fmt"
	"localaws/disk"
	"localaws/inproc"
	"localaws/stepfunctions"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	engine "localaws/dynamodb"
)

type emptyInvoker struct{}

func (emptyInvoker) Invoke(context.Context, string, []byte) ([]byte, *stepfunctions.FunctionError, error) {
	return []byte("{}"), nil, nil
}

// writeBoth writes data of both engines to a file: a table with an index, items, a state machine
// and waiting executions.
func writeBoth(t *testing.T, path string) (content string) {
	t.Helper()
	store, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := engine.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := stepfunctions.Open(store, emptyInvoker{}, stepfunctions.WithLogger(slog.New(slog.DiscardHandler)))
	if err == nil {
		err = machines.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), BaseEndpoint: aws.String("http://engines.local"),
		HTTPClient: inproc.Transport{Handler: tables},
	}
	db := dynamodb.NewFromConfig(config)
	config.HTTPClient = inproc.Transport{Handler: machines}
	states := sfn.NewFromConfig(config)
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	_, err = db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("table"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions:   []types.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: "S"}, {AttributeName: aws.String("g"), AttributeType: "S"}},
		KeySchema:              []types.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: "HASH"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{IndexName: aws.String("index"), KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("g"), KeyType: "HASH"}}, Projection: &types.Projection{ProjectionType: "ALL"}}},
	})
	for i := 0; i < 60 && err == nil; i++ {
		_, err = db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("table"), Item: map[string]types.AttributeValue{
			"k": text(fmt.Sprint("k", i%40)), "g": text(fmt.Sprint("g", i)), "v": text(fmt.Sprintf("%0200d", i)),
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := states.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::123456789012:role/r"),
		Definition: aws.String(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":600,"End":true}}}`),
	})
	for i := 0; i < 10 && err == nil; i++ {
		_, err = states.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn, Name: aws.String(fmt.Sprint("r", i))})
	}
	if err = errors.Join(err, machines.Close()); err != nil {
		t.Fatal(err)
	}
	content = disk.Dump(t, store)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return content
}

// TestFlippedBitsLoseNoEngineData: a few flips at once, in a file that both engines wrote.
func TestFlippedBitsLoseNoEngineData(t *testing.T) {
	if testing.Short() {
		t.Skip("four hundred bits")
	}
	path := filepath.Join(t.TempDir(), "data.db")
	content := writeBoth(t, path)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(file)
	for used > 0 && file[used-1] == 0 {
		used--
	}
	r := rand.New(rand.NewPCG(7, 7))
	bad := filepath.Join(t.TempDir(), "bad.db")
	refused := 0
	const tries = 400
	for range tries {
		flips := map[int]byte{}
		for range 1 + r.IntN(3) {
			flips[r.IntN(used)] = byte(1) << r.IntN(8)
		}
		for at, bit := range flips {
			file[at] ^= bit
		}
		if err := os.WriteFile(bad, file[:used+os.Getpagesize()], 0o600); err != nil {
			t.Fatal(err)
		}
		for at, bit := range flips {
			file[at] ^= bit
		}
		store, err := disk.Open(bad)
		if err != nil {
			refused++
			if !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("%v: %v", flips, err)
			}
			continue
		}
		if disk.Dump(t, store) != content {
			t.Errorf("%v: it was opened, and what is in it is something else", flips)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d were refused, the others have everything", refused, tries)
}
