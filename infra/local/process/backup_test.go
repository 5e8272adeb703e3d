package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"localaws"
	"localaws/disk"
	"localaws/inproc"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// standalone holds the engines of one folder and their clients.
type standalone struct {
	*engines
	tables   *dynamodb.Client
	machines *sfn.Client
	secrets  *secretsmanager.Client
	objects  *s3.Client
}

func openStandalone(t testing.TB, folder string) standalone {
	t.Helper()
	e, err := openEngines(folder, localaws.Options{Log: slog.New(slog.DiscardHandler), AsyncJournal: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	return standaloneOf(t, e)
}

// standaloneOf returns the clients of engines, which it closes at the end.
func standaloneOf(t testing.TB, e *engines) standalone {
	t.Helper()
	t.Cleanup(func() { _ = e.close() })
	config := aws.Config{
		Region: awsRegion, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: inproc.Transport{Handler: e}, BaseEndpoint: aws.String("http://engines.local"),
	}
	return standalone{
		e, dynamodb.NewFromConfig(config), sfn.NewFromConfig(config), secretsmanager.NewFromConfig(config),
		s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }),
	}
}

func (a standalone) createTable(t testing.TB) {
	t.Helper()
	_, err := a.tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("table"), BillingMode: dynamotypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("k"), AttributeType: dynamotypes.ScalarAttributeTypeS}},
		KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: aws.String("k"), KeyType: dynamotypes.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// createBucket makes a bucket whose versions expire a day after they were replaced.
func (a standalone) createBucket(t testing.TB) {
	t.Helper()
	_, err := a.objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("bucket")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = a.objects.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String("bucket"), VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err = a.objects.PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
		Bucket: aws.String("bucket"), LifecycleConfiguration: &s3types.BucketLifecycleConfiguration{Rules: []s3types.LifecycleRule{{
			Status: s3types.ExpirationStatusEnabled, Filter: &s3types.LifecycleRuleFilter{Prefix: aws.String("")},
			NoncurrentVersionExpiration: &s3types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1)},
		}}},
	}); err != nil {
		t.Fatal(err)
	}
}

func (a standalone) putObject(ctx context.Context, key, content string) error {
	_, err := a.objects.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("bucket"), Key: &key, Body: strings.NewReader(content)})
	return err
}

// contents reads every version of every object, and returns the current ones.
func (a standalone) contents(t *testing.T) map[string]string {
	t.Helper()
	current := map[string]string{}
	pages := s3.NewListObjectVersionsPaginator(a.objects, &s3.ListObjectVersionsInput{Bucket: aws.String("bucket")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Versions {
			out, err := a.objects.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("bucket"), Key: v.Key, VersionId: v.VersionId})
			if err != nil {
				t.Fatalf("%s %s: %v", *v.Key, *v.VersionId, err)
			}
			content, err := io.ReadAll(out.Body)
			if err != nil {
				t.Fatal(err)
			}
			if aws.ToBool(v.IsLatest) {
				current[*v.Key] = string(content)
			}
		}
	}
	return current
}

func (a standalone) put(ctx context.Context, key string) error {
	_, err := a.tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("table"), Item: map[string]dynamotypes.AttributeValue{
		"k": &dynamotypes.AttributeValueMemberS{Value: key}, "v": &dynamotypes.AttributeValueMemberS{Value: strings.Repeat("x", 300)},
	}})
	return err
}

// keys returns the keys of all items.
func (a standalone) keys(t testing.TB) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	pages := dynamodb.NewScanPaginator(a.tables, &dynamodb.ScanInput{TableName: aws.String("table")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			keys[item["k"].(*dynamotypes.AttributeValueMemberS).Value] = true
		}
	}
	return keys
}

// backUpAndRestore makes a backup, restores it, and returns the restored folder.
func backUpAndRestore(t testing.TB, folder string) (restored string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "piloto.backup")
	if err := backup(t.Context(), folder, file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Fatal(info, err)
	}
	restored = filepath.Join(t.TempDir(), "restored")
	if err := restore(t.Context(), file, restored); err != nil {
		t.Fatal(err)
	}
	return restored
}

// TestBackupHasEveryAcknowledgedWrite makes a backup while sixteen writers write.
func TestBackupHasEveryAcknowledgedWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes for seconds")
	}
	folder := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, folder)
	a.createTable(t)
	var acknowledged sync.Map
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var written atomic.Int64
	for w := range 16 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d-%d", w, n)
				if err := a.put(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Store(key, true)
				written.Add(1)
			}
		})
	}
	defer writers.Wait()
	defer stop()
	for round := range 4 {
		for written.Load() < int64(500*(round+1)) && !t.Failed() {
			time.Sleep(time.Millisecond) // wait for the first writes
		}
		var before []string
		acknowledged.Range(func(key, _ any) bool { before = append(before, key.(string)); return true })
		restored := backUpAndRestore(t, folder)
		b := openStandalone(t, restored)
		have := b.keys(t)
		for _, key := range before {
			if !have[key] {
				t.Fatalf("round %d: %s was acknowledged before the backup, and is not in it", round, key)
			}
		}
		if err := b.put(t.Context(), "new"); err != nil {
			t.Error(err)
		}
		if err := errors.Join(b.close(), disk.Verify(filepath.Join(restored, dataFile))); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupHasSecretsThatDataRefersTo holds because a secret is written before the data that
// refers to it, and removed after that data.
func TestBackupHasSecretsThatDataRefersTo(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, folder)
	a.createTable(t)
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	for w := range 2 {
		writer.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("s%d-%d", w, n)
				_, err := a.secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String("x")})
				err = errors.Join(err, a.put(t.Context(), name))
				if n%2 == 0 {
					_, deleteErr := a.tables.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
						TableName: aws.String("table"), Key: map[string]dynamotypes.AttributeValue{"k": &dynamotypes.AttributeValueMemberS{Value: name}},
					})
					_, secretErr := a.secrets.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: &name, ForceDeleteWithoutRecovery: aws.Bool(true)})
					err = errors.Join(err, deleteErr, secretErr)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 10 {
		b := openStandalone(t, backUpAndRestore(t, folder))
		for key := range b.keys(t) {
			if _, err := b.secrets.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &key}); err != nil {
				t.Fatalf("%s is referred to, and is not there: %v", key, err)
			}
		}
		_ = b.close()
	}
}

// TestRunContinuesAfterRestore finishes a run in the restored folder, and in the copied one.
func TestRunContinuesAfterRestore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openStandalone(t, folder)
	if err := a.engines.Machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := a.machines.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("m"), RoleArn: aws.String("arn:aws:iam::123456789012:role/r"),
		Definition: aws.String(`{"StartAt":"W","States":{"W":{"Type":"Wait","Seconds":1,"Next":"P"},"P":{"Type":"Pass","Result":"done","End":true}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := a.machines.StartExecution(t.Context(), &sfn.StartExecutionInput{StateMachineArn: m.StateMachineArn, Name: aws.String("r")})
	if err != nil {
		t.Fatal(err)
	}
	b := openStandalone(t, backUpAndRestore(t, folder))
	if err := b.engines.Machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, of := range []standalone{a, b} {
		out := &sfn.DescribeExecutionOutput{Status: sfntypes.ExecutionStatusRunning}
		for out.Status == sfntypes.ExecutionStatusRunning {
			if out, err = of.machines.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: run.ExecutionArn}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if out.Status != sfntypes.ExecutionStatusSucceeded || aws.ToString(out.Output) != `"done"` {
			t.Errorf("%s: %s", out.Status, aws.ToString(out.Output))
		}
	}
}
