package cli

import (
	"context"
	"encoding/json"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"

	engine "localaws/dynamodb"

	"piloto/internal/access/auth"
	"piloto/internal/store"
)

// makeToken runs tokens make.
func makeToken(t *testing.T, out io.Writer, args ...string) error {
	t.Helper()
	a := assemble(&console.Console{Out: out, ErrOut: io.Discard, Getenv: func(string) string { return "" }, Tag: "es"})
	root := a.root()
	root.SetArgs(append([]string{"tokens", "make"}, args...))
	return root.Execute()
}

func TestStoredItemAuthenticates(t *testing.T) {
	ctx := context.Background()
	file, err := disk.Open(filepath.Join(t.TempDir(), "t.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	e, err := engine.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("t", "t", ""),
		HTTPClient: inproc.Transport{Handler: e}, BaseEndpoint: aws.String("http://engine.test"),
	}
	client := dynamodb.NewFromConfig(config)
	if _, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("tokens"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}, {AttributeName: aws.String("SK"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: "HASH"}, {AttributeName: aws.String("SK"), KeyType: "RANGE"}},
	}); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := makeToken(t, &out, "--table", "tokens", "--account", "acme", "--user", "ana", "--scopes", "chat", "--life", "1h"); err != nil {
		t.Fatal(err)
	}
	secret, _, _ := strings.Cut(strings.TrimPrefix(out.String(), "token: "), "\n")
	_, rest, _ := strings.Cut(out.String(), "--item '")
	var wire map[string]map[string]any
	if err := json.Unmarshal([]byte(strings.TrimSuffix(rest, "'\n")), &wire); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(rest, secret) {
		t.Fatal("the command holds the token")
	}
	plain := map[string]any{}
	for k, v := range wire {
		switch {
		case v["N"] != nil:
			plain[k] = attributevalue.Number(v["N"].(string))
		case v["L"] != nil:
			var list []string
			for _, e := range v["L"].([]any) {
				list = append(list, e.(map[string]any)["S"].(string))
			}
			plain[k] = list
		default:
			plain[k] = v["S"]
		}
	}
	item, err := attributevalue.MarshalMap(plain)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("tokens"), Item: item}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	who, err := auth.Authenticate(ctx, store.New(store.Dial(config), "tokens").Access, secret, now, auth.KindToken)
	if err != nil || who.Account != "acme" || who.User != "ana" || !who.Allows(auth.ScopeChat) || who.Allows(auth.ScopeAdmin) {
		t.Errorf("%+v, %v", who, err)
	}
	if _, err := auth.Authenticate(ctx, store.New(store.Dial(config), "tokens").Access, secret, now.Add(time.Hour), auth.KindToken); err == nil {
		t.Error("it outlived its life")
	}
}

func TestInvalidTokenIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--table", "t", "--account", "a#b", "--user", "ana"},
		{"--table", "t", "--user", ""},
		{"--table", "t", "--user", "ana", "--scopes", "root"},
		{"--table", "t", "--user", "ana", "--life", "-1h"},
		{"--nope"},
		{"--account", "acme", "--user", "ana", "--scopes", "admin"},
		{"--account", "default", "--user", "ana"},
		{"--account", "", "--user", "ana"},
		{"--account", "acme", "--table", "", "--user", "ana"},
		{"--table", "", "--user", "ana"},
	} {
		if err := makeToken(t, io.Discard, args...); ending.CodeOf(err) != ending.Usage {
			t.Errorf("%v was accepted", args)
		}
	}
}
