package process

import (
	"bytes"
	"errors"
	"localaws/iam"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/smithy-go"

	"piloto/internal/boot/signed"
	"piloto/internal/edge/telemetry"
	"piloto/internal/live/managementapi"
	"piloto/internal/live/realtime"
	"piloto/internal/store/kv"
)

// TestFunctionIsLimitedToRole: a request that the role does not allow is refused before it is sent,
// and logged.
func TestFunctionIsLimitedToRole(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{})
	var log bytes.Buffer
	p.log = telemetry.New(&log, slog.LevelInfo, "test")
	fn, _ := p.template.Function("ConfirmFunction")
	w, err := p.withRole(p.world(), fn)
	if err != nil {
		t.Fatal(err)
	}
	table := p.table()
	key := func(pk string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: "X"}}
	}
	db := w.Tables
	get := func(pk string) error {
		_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key(pk)})
		return err
	}
	remove := func(pk string) error {
		_, err := db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: &table, Item: key("A#1")}}, {Delete: &types.Delete{TableName: &table, Key: key(pk)}},
		}})
		return err
	}
	others := func() error {
		other := "others"
		_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &other, Key: key("A#1")})
		return err
	}
	batch := func(pk string) error {
		_, err := db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{
			table: {{DeleteRequest: &types.DeleteRequest{Key: key(pk)}}},
		}})
		return err
	}
	query := func(pk string) error {
		return kv.New(db, table).Each(t.Context(), kv.Rows(pk, "X#"), 0, func(kv.Item) (bool, error) { return true, nil })
	}
	describe := func() error {
		arn := "arn:aws:states:us-east-1:123456789012:execution:piloto-PlanRun:1"
		_, err := sfn.NewFromConfig(w.StepFunctions).DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		return err
	}
	list := func() error {
		_, err := sfn.NewFromConfig(w.StepFunctions).ListStateMachines(t.Context(), &sfn.ListStateMachinesInput{})
		return err
	}
	secret := func() error {
		id := "piloto/providers/1"
		_, err := secretsmanager.NewFromConfig(w.Secrets).GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &id})
		return err
	}
	for name, c := range map[string]struct {
		err    error
		denied bool
	}{
		"reads what is its own to read":     {get("A#1"), false},
		"reads tokens":                      {get("TOKEN#1"), true},
		"reads keys of servers":             {get("A#1#KEYS"), true},
		"forgets a connection":              {remove("A#1#WS"), false},
		"deletes of a chat":                 {remove("A#1#C#2"), true},
		"deletes in a batch":                {batch("A#1#WS"), true},
		"reads another table":               {others(), true},
		"does what nobody thought of":       {list(), true},
		"looks at executions":               {describe(), true},
		"lists the rows of a chat":          {query("A#1#C#2"), false},
		"lists tokens":                      {query("TOKEN#1"), true},
		"reads the keys of other providers": {secret(), true},
	} {
		var refused smithy.APIError
		if denied := errors.As(c.err, &refused) && refused.ErrorCode() == "AccessDeniedException"; denied != c.denied || !denied && c.err != nil {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	sockets := &managementapi.Poster{API: signed.New(w.Push, "execute-api", "http://sockets/live", p.Clock)}
	if err := sockets.Post(t.Context(), "none", []byte("x")); !errors.Is(err, realtime.ErrGone) {
		t.Errorf("posts to a connection: %v", err)
	}
	if err := sockets.Close(t.Context(), "none"); !errors.Is(err, realtime.ErrRefused) {
		t.Errorf("closes a connection: %v", err)
	}
	if n := strings.Count(log.String(), DeniedEvent); n != 10 {
		t.Errorf("%d lines of the log: %s", n, &log)
	}
}

// TestEveryFunctionHasRole: each function of the template has a role, and no role is empty.
func TestEveryFunctionHasRole(t *testing.T) {
	p, _, _, _ := deploy(t, Settings{})
	for _, fn := range p.template.Functions {
		policy, err := iam.Read(p.deployment.Policies[fn.ID]...)
		if err != nil || len(policy) == 0 {
			t.Errorf("%s: %d statements, %v", fn.ID, len(policy), err)
		}
	}
	fn := p.template.Functions[0]
	fn.Role = ""
	if _, err := p.withRole(p.world(), fn); err == nil {
		t.Error("a function without a role is held to nothing")
	}
}
