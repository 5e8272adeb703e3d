// Package lab owns what tests stand on: the table of template.yaml in an
// embedded engine over a folder of the test's own.
package lab

import (
	"context"
	"localaws/disk"
	"localaws/dynamodb"
	"localaws/inproc"
	"localaws/provision"
	"localaws/template"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"piloto/internal/store/dynamo"
)

// Table returns an empty table, as a deployment would make it.
func Table(t testing.TB) *dynamo.Table {
	t.Helper()
	table, _, _ := Raw(t, func(c aws.HTTPClient) aws.HTTPClient { return c })
	return table
}

// Raw returns an empty table whose calls go through what wrap makes of the way to
// the engine, with the configuration of a client that goes around it, and the
// table's name.
func Raw(t testing.TB, wrap func(aws.HTTPClient) aws.HTTPClient) (*dynamo.Table, aws.Config, string) {
	t.Helper()
	store, err := disk.Open(filepath.Join(t.TempDir(), "table.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	engine, err := dynamodb.Open(store, dynamodb.WithClock(func() time.Time { return Epoch }))
	if err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: inproc.Transport{Handler: engine}, BaseEndpoint: aws.String("http://engine.test"),
	}
	deployment, err := template.Read(Root(t, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names := deployment.Names()
	if err := provision.Tables(context.Background(), config, deployment, names); err != nil {
		t.Fatal(err)
	}
	wrapped := config
	wrapped.HTTPClient = wrap(config.HTTPClient)
	name := names[deployment.Tables[0].ID]
	return dynamo.New(wrapped, name), config, name
}

// Root returns the path of a file below the module's root.
func Root(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, name)
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}
