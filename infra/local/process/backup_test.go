package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
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
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/infra/local/disk"
	"piloto/infra/local/inproc"
	"piloto/infra/local/stepfunctions"
)

// alone are the engines of one folder, and clients of them.
type alone struct {
	*engines
	tables   *dynamodb.Client
	machines *sfn.Client
	secrets  *secretsmanager.Client
}

func openAlone(t testing.TB, folder string) alone {
	t.Helper()
	e, err := openEngines(folder, time.Now, noFunctions{}, slog.New(slog.DiscardHandler), func(context.Context, stepfunctions.Event) error { return nil }, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.close() })
	config := aws.Config{
		Region: awsRegion, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: inproc.Transport{Handler: e}, BaseEndpoint: aws.String("http://engines.local"),
	}
	return alone{e, dynamodb.NewFromConfig(config), sfn.NewFromConfig(config), secretsmanager.NewFromConfig(config)}
}

func (a alone) createTable(t testing.TB) {
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

func (a alone) put(ctx context.Context, key string) error {
	_, err := a.tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("table"), Item: map[string]dynamotypes.AttributeValue{
		"k": &dynamotypes.AttributeValueMemberS{Value: key}, "v": &dynamotypes.AttributeValueMemberS{Value: strings.Repeat("x", 300)},
	}})
	return err
}

// keys are those of all items.
func (a alone) keys(t testing.TB) map[string]bool {
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

// backUp makes a backup and restores it, and returns the folder.
func backUp(t testing.TB, folder string) (restored string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "piloto.backup")
	if err := Backup(t.Context(), folder, file, io.Discard); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Fatal(info, err)
	}
	restored = filepath.Join(t.TempDir(), "restored")
	if err := Restore(file, restored, io.Discard); err != nil {
		t.Fatal(err)
	}
	return restored
}

// TestABackupHasEveryWriteAcknowledgedBeforeIt while sixteen writers go on.
func TestABackupHasEveryWriteAcknowledgedBeforeIt(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openAlone(t, folder)
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
			time.Sleep(time.Millisecond) // until there is something to lose
		}
		var before []string
		acknowledged.Range(func(key, _ any) bool { before = append(before, key.(string)); return true })
		restored := backUp(t, folder)
		b := openAlone(t, restored)
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

// TestABackupHasTheSecretsThatItsDataRefersTo: a secret is there before what
// refers to it, and as long as that is.
func TestABackupHasTheSecretsThatItsDataRefersTo(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openAlone(t, folder)
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
		b := openAlone(t, backUp(t, folder))
		for key := range b.keys(t) {
			if _, err := b.secrets.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &key}); err != nil {
				t.Fatalf("%s is referred to, and is not there: %v", key, err)
			}
		}
		_ = b.close()
	}
}

// TestARunGoesOnInTheRestoredDeployment, as it does in the one that was copied.
func TestARunGoesOnInTheRestoredDeployment(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openAlone(t, folder)
	if err := a.engines.machines.Start(t.Context()); err != nil {
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
	b := openAlone(t, backUp(t, folder))
	if err := b.engines.machines.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, of := range []alone{a, b} {
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

// filled is a folder that nobody has open, with a file of every kind.
func filled(t testing.TB) (folder string, files map[string]string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "data")
	a := openAlone(t, folder)
	a.createTable(t)
	_, err := a.secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("s"), SecretString: aws.String("x")})
	if err = errors.Join(err, a.put(t.Context(), "k"), a.close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": "a token of ours\n", installedFile: strings.Repeat("0", 64), "demo.jsonl": "", "demo.registered": "http://x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, filesIn(t, folder)
}

func filesIn(t testing.TB, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", e.Name(), info.Mode(), err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func TestABackupHasAllFilesWithoutAProcess(t *testing.T) {
	folder, files := filled(t)
	restored := filesIn(t, backUp(t, folder))
	if len(restored) != 6 || len(files) != 6 {
		t.Errorf("%d files of %d", len(restored), len(files))
	}
	for name, text := range files {
		// The data file is copied without what was only set aside behind its end,
		// and with its two roots saying the same.
		if restored[name] != text && name != dataFile {
			t.Errorf("%s is not what it was", name)
		}
	}
	if after := filesIn(t, folder); len(after) != len(files) {
		t.Errorf("the folder that was copied has changed: %d files of %d", len(after), len(files))
	}
}

// TestADamagedBackupIsNotRestored, or only where the damage means nothing.
func TestADamagedBackupIsNotRestored(t *testing.T) {
	folder, _ := filled(t)
	file := filepath.Join(t.TempDir(), "b")
	if err := Backup(t.Context(), folder, file, io.Discard); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(t.TempDir(), "good")
	if err := Restore(file, good, io.Discard); err != nil {
		t.Fatal(err)
	}
	want := filesIn(t, good)
	r := rand.New(rand.NewPCG(1, 1))
	parent := t.TempDir()
	refused := 0
	try := func(what string, text []byte) {
		bad, into := filepath.Join(t.TempDir(), "bad"), filepath.Join(parent, "into")
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Restore(bad, into, io.Discard); err != nil {
			refused++
			if left, _ := os.ReadDir(parent); len(left) != 0 || !strings.Contains(err.Error(), bad) {
				t.Errorf("%s: it left %v and said %v", what, left, err)
			}
			return
		}
		got := filesIn(t, into)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("%s: %s was restored as something else", what, name)
			}
		}
		if err := os.RemoveAll(into); err != nil {
			t.Fatal(err)
		}
	}
	const tries = 150
	for range tries {
		i, bit := r.IntN(len(whole)), byte(1)<<r.IntN(8)
		whole[i] ^= bit
		try(fmt.Sprintf("byte %d", i), whole)
		whole[i] ^= bit
	}
	if refused < tries/2 {
		t.Errorf("%d of %d were refused", refused, tries)
	}
	for range 60 {
		try("cut", whole[:r.IntN(len(whole)-2000)])
	}
	for _, text := range []string{"", "no tar", strings.Repeat("\x00", 4096)} {
		try("something else", []byte(text))
	}
}

func TestABackupReplacesNothing(t *testing.T) {
	folder, _ := filled(t)
	out := filepath.Join(t.TempDir(), "b")
	for name, x := range map[string]struct {
		do   func() error
		says string
	}{
		"an empty folder": {func() error { return Backup(t.Context(), t.TempDir(), out, io.Discard) }, "no data"},
		"a file in it":    {func() error { return Backup(t.Context(), folder, filepath.Join(folder, "b"), io.Discard) }, "in the data folder"},
		"a folder with files": {func() error {
			return errors.Join(Backup(t.Context(), folder, out, io.Discard), Restore(out, folder, io.Discard))
		}, dataFile},
	} {
		if err := x.do(); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(out, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), folder, out, io.Discard); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Error(err)
	}
	if err := settle(filepath.Join(folder, "token"), out); !errors.Is(err, fs.ErrExist) { // one that came meanwhile
		t.Error(err)
	}
	if text, _ := os.ReadFile(out); string(text) != "theirs" {
		t.Error("it was replaced")
	}
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

// TestTheControlSocketIsForItsOwnerAlone, wherever the folder is, and in the place
// of one that a killed process left.
func TestTheControlSocketIsForItsOwnerAlone(t *testing.T) {
	for _, folder := range []string{filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), strings.Repeat("a long name ", 12), "data")} {
		a := openAlone(t, folder)
		a.createTable(t)
		path := filepath.Join(folder, controlSocket)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Fatal(info, err)
		}
		backUp(t, folder)
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it was left: %v", err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil { // of a process that was killed
			t.Fatal(err)
		}
		again := openAlone(t, folder)
		backUp(t, folder)
		_ = again.close()
		if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestABackupThatIsCutOffIsNotKept: the process stops while it sends.
func TestABackupThatIsCutOffIsNotKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	a := openAlone(t, folder)
	a.createTable(t)
	if err := a.store.Update(func(tx *disk.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("large"))
		return errors.Join(err, b.Put([]byte("k"), make([]byte, 8<<20)))
	}); err != nil {
		t.Fatal(err)
	}
	places := t.TempDir()
	for _, after := range []int{0, 1, 1000, 40_000, 1 << 20} {
		ctx, cancel := context.WithCancel(t.Context())
		err := requestBackup(ctx, folder, &cutting{left: after, cut: cancel})
		if err == nil {
			t.Errorf("cut after %d bytes, and nobody noticed", after)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Backup(ctx, folder, filepath.Join(places, "b"), io.Discard); err == nil {
		t.Error("it went on")
	}
	if left, _ := os.ReadDir(places); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := a.put(t.Context(), "after"); err != nil {
		t.Error(err)
	}
	if err := requestBackup(t.Context(), folder, &stopping{stop: func() { _ = a.control.close() }}); err == nil {
		t.Error("the process stopped while it sent, and nobody noticed")
	}
}

// stopping stops the sender when the first of it is there.
type stopping struct {
	once sync.Once
	stop func()
}

func (s *stopping) Write(b []byte) (int, error) {
	s.once.Do(s.stop)
	return len(b), nil
}

type cutting struct {
	left int
	cut  func()
}

func (c *cutting) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		c.cut()
		return 0, io.ErrClosedPipe
	}
	return len(b), nil
}

func TestARefusedDataFileSaysWhatToDo(t *testing.T) {
	folder, _ := filled(t)
	path := filepath.Join(folder, dataFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restore := "mv " + folder + " " + folder + ".damaged && go run ./infra/local -restore FILE -data " + folder
	start := func() error {
		_, err := openEngines(folder, time.Now, noFunctions{}, slog.New(slog.DiscardHandler), nil, "")
		return err
	}
	for name, x := range map[string]struct {
		damage func(b []byte)
		older  bool
	}{
		"a page": {func(b []byte) { copy(b[3*os.Getpagesize():], bytes.Repeat([]byte("x"), 9*os.Getpagesize())) }, false},
		"a root": {func(b []byte) { b[40] ^= 1 }, true},
	} {
		bad := bytes.Clone(whole)
		x.damage(bad)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		err := start()
		if err == nil {
			t.Fatalf("%s: it started", name)
		}
		for _, says := range []string{path, "nothing was changed", restore} {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: it does not say %q: %v", name, says, err)
			}
		}
		if strings.Contains(err.Error(), "-accept-older -data "+folder) != x.older {
			t.Errorf("%s: %v", name, err)
		}
		if err := AcceptOlder(folder, io.Discard); (err == nil) != x.older {
			t.Errorf("%s: accepted: %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "is missing") || !strings.Contains(err.Error(), restore) {
		t.Errorf("a data file that is gone: %v", err)
	}
}
