package main

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

	engine "localaws/dynamodb"

	"piloto/internal/access/auth"
	"piloto/internal/store"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestStoredItemAuthenticates(t *testing.T) {
	ctx := context.Background()
	file, err := disk.Open(filepath.Join(t.TempDir(), "t.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	e, err := engine.Open(file, engine.WithClock(func() time.Time { return now }))
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
	if err := run([]string{"-table", "tokens", "-account", "acme", "-user", "ana", "-scopes", "chat", "-life", "1h"}, now, &out, io.Discard); err != nil {
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
		{}, {"-table", "t", "-account", "a#b"}, {"-table", "t", "-user", ""}, {"-table", "t", "-scopes", "root"}, {"-table", "t", "-life", "-1h"}, {"-nope"},
	} {
		if err := run(args, now, io.Discard, io.Discard); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
