package main

import (
	"bufio"
	"context"
	"io"
	"localaws/alone"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestParseAcceptsLoopbackOnly(t *testing.T) {
	for line, says := range map[string]string{
		"": "", "-listen [::1]:0": "", "-listen localhost:8000 -data d": "", "-lambda http://127.0.0.1:3001": "",
		"-listen :8000":            "loopback only",
		"-listen 0.0.0.0:8000":     "loopback only",
		"-listen example.org:8000": "loopback only",
		"-listen 127.0.0.1":        "loopback only",
		"more":                     `unknown argument "more"`,
		"-aws 127.0.0.1:8000":      "-aws",
	} {
		_, err := parse(strings.Fields(line), io.Discard)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestDataSurvivesRestart runs the command twice over one folder, with an SDK client.
func TestDataSurvivesRestart(t *testing.T) {
	o := alone.Options{Listen: "127.0.0.1:0", Data: t.TempDir()}
	name := "things"
	for round := range 2 {
		ctx, stop := context.WithCancel(t.Context())
		output, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			err := alone.Serve(ctx, o, out, io.Discard)
			_ = out.Close()
			ended <- err
		}()
		lines := bufio.NewReader(output)
		first, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("it said %q, and ended with %v", first, <-ended)
		}
		go func() { _, _ = io.Copy(io.Discard, lines) }()
		_, url, _ := strings.Cut(strings.TrimSpace(first), " ready on ")
		client := dynamodb.NewFromConfig(aws.Config{
			Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		})
		if round == 0 {
			if _, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
				TableName: &name, BillingMode: types.BillingModePayPerRequest,
				AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
				KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		tables, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
		if err != nil || len(tables.TableNames) != 1 || tables.TableNames[0] != name {
			t.Errorf("round %d: %v %v", round, tables, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("round %d ended with %v", round, err)
		}
	}
}
