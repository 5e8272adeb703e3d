package secretsmanager_test

import (
	"context"
	"errors"
	"fmt"
	"localaws/inproc"
	"localaws/secretsmanager"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
)

const givenARN = "arn:aws:secretsmanager:us-east-1:123456789012:secret:platform-local1"

// clock is a time that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// client returns a production client of an engine.
func client(e *secretsmanager.Engine) *sdk.Client {
	return sdk.NewFromConfig(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: inproc.Transport{Handler: e}, BaseEndpoint: aws.String("http://engine.test"),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
}

func open(t testing.TB, path string, options ...secretsmanager.Option) *sdk.Client {
	t.Helper()
	e, err := secretsmanager.Open(path, options...)
	if err != nil {
		t.Fatal(err)
	}
	return client(e)
}

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "data", "secrets.json") }

// errorText returns an error's type and message, "" for none.
func errorText(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode() + ": " + e.ErrorMessage()
	}
	if err != nil {
		return "not of the service: " + err.Error()
	}
	return ""
}

func mustFail(t testing.TB, err error, want string) {
	t.Helper()
	if got := errorText(err); got != want {
		t.Errorf("it said\n  %q\nand should say\n  %q", got, want)
	}
}

func create(t testing.TB, c *sdk.Client, name, text string) *sdk.CreateSecretOutput {
	t.Helper()
	out, err := c.CreateSecret(t.Context(), &sdk.CreateSecretInput{Name: &name, SecretString: &text})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t testing.TB, c *sdk.Client, id, text string) *sdk.PutSecretValueOutput {
	t.Helper()
	out, err := c.PutSecretValue(t.Context(), &sdk.PutSecretValueInput{SecretId: &id, SecretString: &text})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// value returns a secret's current text, or the error.
func value(c *sdk.Client, id string) string {
	out, err := c.GetSecretValue(context.Background(), &sdk.GetSecretValueInput{SecretId: &id})
	if err != nil {
		return errorText(err)
	}
	return aws.ToString(out.SecretString)
}

const (
	notFound = "ResourceNotFoundException: Secrets Manager can't find the specified secret."
	marked   = "InvalidRequestException: You can't perform this operation on the secret because it was marked for deletion."
)

func TestFindTakesNameARNAndPartialARN(t *testing.T) {
	c := open(t, file(t))
	made := create(t, c, "app/key", "one")
	if name := strings.TrimSuffix(*made.ARN, (*made.ARN)[len(*made.ARN)-7:]); !strings.HasSuffix(name, ":secret:app/key") || len(*made.VersionId) < 32 {
		t.Errorf("made %s, version %s", *made.ARN, *made.VersionId)
	}
	for id, want := range map[string]string{
		"app/key": "one", *made.ARN: "one", (*made.ARN)[:len(*made.ARN)-7]: "one",
		"app": notFound, *made.ARN + "x": notFound, (*made.ARN)[:len(*made.ARN)-8]: notFound, (*made.ARN)[:len(*made.ARN)-6]: notFound,
	} {
		if got := value(c, id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// TestFindPrefersCompleteARN: the complete ARN wins over the partial one.
func TestFindPrefersCompleteARN(t *testing.T) {
	c := open(t, file(t))
	first := create(t, c, "key", "short")
	suffix := (*first.ARN)[len(*first.ARN)-7:]
	create(t, c, "key"+suffix, "long")
	for range 20 { // in any order of a map
		if got := value(c, *first.ARN); got != "short" {
			t.Fatalf("the ARN of one secret found %q", got)
		}
	}
}

func TestNewValueTakesCurrentLabel(t *testing.T) {
	c, at := open(t, file(t)), t.Context()
	one := create(t, c, "k", "one")
	two := put(t, c, "k", "two")
	get := func(in sdk.GetSecretValueInput) (string, []string, error) {
		in.SecretId = aws.String("k")
		out, err := c.GetSecretValue(at, &in)
		if err != nil {
			return "", nil, err
		}
		return *out.SecretString, out.VersionStages, nil
	}
	for name, x := range map[string]struct {
		in     sdk.GetSecretValueInput
		text   string
		stages []string
		says   string
	}{
		"nothing said":      {text: "two", stages: []string{"AWSCURRENT"}},
		"the previous":      {in: sdk.GetSecretValueInput{VersionStage: aws.String("AWSPREVIOUS")}, text: "one", stages: []string{"AWSPREVIOUS"}},
		"by id":             {in: sdk.GetSecretValueInput{VersionId: one.VersionId}, text: "one", stages: []string{"AWSPREVIOUS"}},
		"by both":           {in: sdk.GetSecretValueInput{VersionId: two.VersionId, VersionStage: aws.String("AWSCURRENT")}, text: "two", stages: []string{"AWSCURRENT"}},
		"by both, apart":    {in: sdk.GetSecretValueInput{VersionId: one.VersionId, VersionStage: aws.String("AWSCURRENT")}, says: "InvalidRequestException: You provided a VersionStage that is not associated to the provided VersionId."},
		"a label of none":   {in: sdk.GetSecretValueInput{VersionStage: aws.String("AWSPENDING")}, says: "ResourceNotFoundException: Secrets Manager can't find the specified secret value for staging label: AWSPENDING"},
		"a version of none": {in: sdk.GetSecretValueInput{VersionId: aws.String(strings.Repeat("0", 32))}, says: "ResourceNotFoundException: Secrets Manager can't find the specified secret value for VersionId: 00000000000000000000000000000000"},
	} {
		text, stages, err := get(x.in)
		if text != x.text || !slices.Equal(stages, x.stages) || errorText(err) != x.says {
			t.Errorf("%s: %q %v %s", name, text, stages, errorText(err))
		}
	}
	put(t, c, "k", "three")
	if _, _, err := get(sdk.GetSecretValueInput{VersionId: one.VersionId}); err == nil {
		t.Error("a version without a label can still be read")
	}
	d, err := c.DescribeSecret(at, &sdk.DescribeSecretInput{SecretId: aws.String("k")})
	if err != nil || len(d.VersionIdsToStages) != 2 || !slices.Equal(d.VersionIdsToStages[*two.VersionId], []string{"AWSPREVIOUS"}) {
		t.Errorf("described as %v, %v", d, err)
	}
}

func TestSecretWithoutValueIsNotFound(t *testing.T) {
	c := open(t, file(t))
	made, err := c.CreateSecret(t.Context(), &sdk.CreateSecretInput{Name: aws.String("k"), Description: aws.String("later")})
	if err != nil || made.VersionId != nil {
		t.Fatal(made, err)
	}
	if got := value(c, "k"); got != "ResourceNotFoundException: Secrets Manager can't find the specified secret value for staging label: AWSCURRENT" {
		t.Error(got)
	}
	if put(t, c, "k", "v"); value(c, "k") != "v" {
		t.Error("its first value is not there")
	}
}

func TestClientRequestTokenIsUsedOnce(t *testing.T) {
	c, at := open(t, file(t)), t.Context()
	token := "11111111-1111-1111-1111-111111111111"
	in := sdk.CreateSecretInput{Name: aws.String("k"), SecretString: aws.String("one"), ClientRequestToken: &token}
	first, err := c.CreateSecret(at, &in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.CreateSecret(at, &in)
	if err != nil || *again.ARN != *first.ARN || *again.VersionId != token {
		t.Errorf("the same again: %v", err)
	}
	in.SecretString = aws.String("other")
	_, err = c.CreateSecret(at, &in)
	mustFail(t, err, "ResourceExistsException: The operation failed because the secret k already exists.")
	inUse := fmt.Sprintf("ResourceExistsException: You can't use ClientRequestToken %s because that value is already in use for a version of secret %s.", token, *first.ARN)
	write := func(text string) error {
		_, err := c.PutSecretValue(at, &sdk.PutSecretValueInput{SecretId: in.Name, SecretString: &text, ClientRequestToken: &token})
		return err
	}
	for round, before := range []string{"one", "two", "three", "four"} { // current, previous, and then without a label
		if round > 0 {
			put(t, c, "k", before)
		}
		if err := write("one"); err != nil {
			t.Errorf("round %d: repeated: %v", round, err)
		}
		mustFail(t, write("other"), inUse)
		if got := value(c, "k"); got != before {
			t.Errorf("round %d: a repetition changed the value to %q", round, got)
		}
	}
}

func TestUpdateChangesGivenMembers(t *testing.T) {
	c, at := open(t, file(t)), t.Context()
	made := create(t, c, "k", "one")
	out, err := c.UpdateSecret(at, &sdk.UpdateSecretInput{SecretId: aws.String("k"), Description: aws.String("mine")})
	if err != nil || out.VersionId != nil || value(c, "k") != "one" {
		t.Errorf("a description: %v %v", out, err)
	}
	out, err = c.UpdateSecret(at, &sdk.UpdateSecretInput{SecretId: aws.String("k"), SecretString: aws.String("two")})
	if err != nil || aws.ToString(out.VersionId) == "" || *out.VersionId == *made.VersionId || value(c, "k") != "two" {
		t.Errorf("a value: %v %v", out, err)
	}
	d, err := c.DescribeSecret(at, &sdk.DescribeSecretInput{SecretId: aws.String("k")})
	if err != nil || aws.ToString(d.Description) != "mine" {
		t.Errorf("described as %v, %v", d, err)
	}
}

func TestDeletionCanBeCancelledWithinWindow(t *testing.T) {
	now, path := newClock(), file(t)
	c, at := open(t, path, secretsmanager.WithClock(now.Now)), t.Context()
	create(t, c, "k", "one")
	k := aws.String("k")
	out, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: k, RecoveryWindowInDays: aws.Int64(7)})
	if err != nil || !out.DeletionDate.Equal(now.Now().AddDate(0, 0, 7)) {
		t.Fatal(out, err)
	}
	if got := value(c, "k"); got != marked {
		t.Error(got)
	}
	_, err = c.PutSecretValue(at, &sdk.PutSecretValueInput{SecretId: k, SecretString: aws.String("two")})
	mustFail(t, err, marked)
	_, err = c.UpdateSecret(at, &sdk.UpdateSecretInput{SecretId: k, Description: aws.String("d")})
	mustFail(t, err, marked)
	_, err = c.CreateSecret(at, &sdk.CreateSecretInput{Name: k, SecretString: aws.String("two")})
	mustFail(t, err, "InvalidRequestException: You can't create this secret because a secret with this name is already scheduled for deletion.")
	_, err = c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: k})
	mustFail(t, err, "InvalidRequestException: You can't perform this operation on the secret because it was already scheduled for deletion.")
	d, err := c.DescribeSecret(at, &sdk.DescribeSecretInput{SecretId: k})
	if err != nil || d.DeletedDate == nil || !d.DeletedDate.Equal(now.Now()) {
		t.Errorf("described as %v, %v", d, err)
	}
	if _, err := c.RestoreSecret(at, &sdk.RestoreSecretInput{SecretId: k}); err != nil || value(c, "k") != "one" {
		t.Errorf("restored: %v, %s", err, value(c, "k"))
	}
	if _, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: k}); err != nil { // 30 days
		t.Fatal(err)
	}
	now.pass(30*24*time.Hour - time.Millisecond)
	if got := value(c, "k"); got != marked {
		t.Errorf("just before its time: %s", got)
	}
	now.pass(time.Millisecond)
	if got := value(c, "k"); got != notFound {
		t.Errorf("at its time: %s", got)
	}
	_, err = c.RestoreSecret(at, &sdk.RestoreSecretInput{SecretId: k})
	mustFail(t, err, notFound)
	open(t, path, secretsmanager.WithClock(now.Now))
	if text := content(t, path); strings.Contains(text, "one") {
		t.Error("its value is still in the file after a start")
	}
	if create(t, c, "k", "new"); value(c, "k") != "new" {
		t.Error("its name cannot be used again")
	}
}

func TestForcedDeletionIsImmediate(t *testing.T) {
	path := file(t)
	c, at := open(t, path), t.Context()
	first := create(t, c, "k", "canary-of-k")
	force := &sdk.DeleteSecretInput{SecretId: aws.String("k"), ForceDeleteWithoutRecovery: aws.Bool(true)}
	for range 2 {
		out, err := c.DeleteSecret(at, force)
		if err != nil || *out.Name != "k" || out.DeletionDate == nil {
			t.Fatal(out, err)
		}
	}
	if strings.Contains(content(t, path), "canary-of-k") || value(c, "k") != notFound {
		t.Error("it is still there")
	}
	if second := create(t, c, "k", "two"); *second.ARN == *first.ARN {
		t.Error("another secret has the ARN of the one that was deleted")
	}
	if _, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: aws.String("k")}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteSecret(at, force); err != nil || value(c, "k") != notFound {
		t.Errorf("one that was scheduled: %v", err)
	}
}

func TestListHoldsNamesAndNoValues(t *testing.T) {
	c, at := open(t, file(t), secretsmanager.WithGiven(givenARN, "given")), t.Context()
	want := []string{"platform"}
	for i := range 7 {
		name := fmt.Sprintf("k%d", i)
		create(t, c, name, "value")
		want = append(want, name)
	}
	slices.Sort(want)
	if _, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: aws.String("k3")}); err != nil {
		t.Fatal(err)
	}
	for planned, want := range map[bool][]string{true: want, false: slices.DeleteFunc(slices.Clone(want), func(n string) bool { return n == "k3" })} {
		var got []string
		pages := sdk.NewListSecretsPaginator(c, &sdk.ListSecretsInput{MaxResults: aws.Int32(3), IncludePlannedDeletion: &planned})
		for pages.HasMorePages() {
			page, err := pages.NextPage(at)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range page.SecretList {
				got = append(got, *s.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("planned %v: %v, not %v", planned, got, want)
		}
	}
	_, err := c.ListSecrets(at, &sdk.ListSecretsInput{NextToken: aws.String("%")})
	mustFail(t, err, "InvalidNextTokenException: The NextToken value is invalid.")
}

func TestGivenSecretIsReadOnly(t *testing.T) {
	path := file(t)
	kept := open(t, path)
	create(t, kept, "platform", "kept") // hidden by the given secret later
	c, at := open(t, path, secretsmanager.WithGiven(givenARN, "canary-given")), t.Context()
	for _, id := range []string{"platform", givenARN, givenARN[:len(givenARN)-7]} {
		if got := value(c, id); got != "canary-given" {
			t.Errorf("%s: %s", id, got)
		}
	}
	d, err := c.DescribeSecret(at, &sdk.DescribeSecretInput{SecretId: aws.String("platform")})
	if err != nil || *d.ARN != givenARN || len(d.VersionIdsToStages) != 1 {
		t.Errorf("described as %v, %v", d, err)
	}
	const refused = "InvalidRequestException: You can't change this secret: the process was given it by its environment. Change it there."
	name, arn := aws.String("platform"), aws.String(givenARN)
	for what, write := range map[string]func() error{
		"create": func() error {
			_, err := c.CreateSecret(at, &sdk.CreateSecretInput{Name: name, SecretString: name})
			return err
		},
		"put": func() error {
			_, err := c.PutSecretValue(at, &sdk.PutSecretValueInput{SecretId: arn, SecretString: name})
			return err
		},
		"update": func() error {
			_, err := c.UpdateSecret(at, &sdk.UpdateSecretInput{SecretId: name, Description: name})
			return err
		},
		"delete": func() error { _, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: arn}); return err },
		"force": func() error {
			_, err := c.DeleteSecret(at, &sdk.DeleteSecretInput{SecretId: name, ForceDeleteWithoutRecovery: aws.Bool(true)})
			return err
		},
		"restore": func() error { _, err := c.RestoreSecret(at, &sdk.RestoreSecretInput{SecretId: name}); return err },
	} {
		if got := errorText(write()); got != refused {
			t.Errorf("%s: %q", what, got)
		}
	}
	create(t, c, "other", "x")
	if strings.Contains(content(t, path), "canary-given") {
		t.Error("it reached the disk")
	}
	if got := value(open(t, path), "platform"); got != "kept" {
		t.Errorf("without what was given: %s", got)
	}
}

func TestGivenSecretNeedsCompleteARN(t *testing.T) {
	for _, arn := range []string{"", "platform", "arn:aws:secretsmanager:us-east-1:1:secret:x", "arn:aws:s3:r:1:secret:x-abcdef", "arn:aws:secretsmanager:r:1:secret:-abcdef", "arn:aws:secretsmanager:r:1:secret:a b-abcdef"} {
		if _, err := secretsmanager.Open(file(t), secretsmanager.WithGiven(arn, "canary")); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", arn, err)
		}
	}
	if _, err := secretsmanager.Open(file(t), secretsmanager.WithGiven(givenARN, "a"), secretsmanager.WithGiven(givenARN, "b")); err == nil {
		t.Error("the same one was given twice")
	}
}

// TestOnlyOneConcurrentCreateSucceeds starts many creations at the same time.
func TestOnlyOneConcurrentCreateSucceeds(t *testing.T) {
	c := open(t, file(t))
	var begin, done sync.WaitGroup
	begin.Add(1)
	won := make(chan string, 50)
	for i := range 50 {
		done.Add(1)
		go func() {
			defer done.Done()
			begin.Wait()
			text := fmt.Sprint(i)
			_, err := c.CreateSecret(t.Context(), &sdk.CreateSecretInput{Name: aws.String("k"), SecretString: &text})
			if err == nil {
				won <- text
			} else if !strings.HasPrefix(errorText(err), "ResourceExistsException") {
				t.Error(err)
			}
		}()
	}
	begin.Done()
	done.Wait()
	if len(won) != 1 || value(c, "k") != <-won {
		t.Errorf("%d created it, and it holds %s", len(won)+1, value(c, "k"))
	}
}

// TestConcurrentWritesAreAllStored: writers of different secrets share one file.
func TestConcurrentWritesAreAllStored(t *testing.T) {
	path := file(t)
	c := open(t, path)
	const writers, rounds = 8, 10
	var done sync.WaitGroup
	for i := range writers {
		done.Add(1)
		go func() {
			defer done.Done()
			name := fmt.Sprint("k", i)
			create(t, c, name, "0")
			for n := 1; n <= rounds; n++ {
				put(t, c, name, fmt.Sprint(n))
				if got := value(c, name); got != fmt.Sprint(n) {
					t.Errorf("%s was %s after %d", name, got, n)
				}
			}
		}()
	}
	done.Wait()
	c = open(t, path)
	for i := range writers {
		if got := value(c, fmt.Sprint("k", i)); got != fmt.Sprint(rounds) {
			t.Errorf("k%d is %s after a restart", i, got)
		}
	}
}
