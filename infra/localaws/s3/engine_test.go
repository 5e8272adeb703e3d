package s3_test

import (
	"context"
	"fmt"
	"io"
	"localaws/disk"
	"localaws/inproc"
	"localaws/s3"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// world is an engine over a folder, at a time that a test sets.
type world struct {
	*testing.T
	dir    string
	store  *disk.Store
	engine *s3.Engine
	client *sdk.Client
	mu     sync.Mutex
	now    time.Time
}

var bucket = aws.String("tests")

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), now: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)}
	w.open()
	t.Cleanup(func() { _ = w.store.Close() })
	if _, err := w.client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.PutBucketVersioning(t.Context(), &sdk.PutBucketVersioningInput{
		Bucket: bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) later(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) folder() string { return filepath.Join(w.dir, "objects") }

// open opens the engine, as a process does at its start.
func (w *world) open() {
	w.Helper()
	var err error
	if w.store, err = disk.Open(filepath.Join(w.dir, "data")); err != nil {
		w.Fatal(err)
	}
	if w.engine, err = s3.Open(w.store, w.folder(), s3.WithClock(w.clock)); err != nil {
		w.Fatal(err)
	}
	w.client = sdk.New(sdk.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), UsePathStyle: true,
		HTTPClient: inproc.Transport{Handler: w.engine}, BaseEndpoint: aws.String("http://engine.test"), Retryer: aws.NopRetryer{},
	})
}

func (w *world) restart() {
	w.Helper()
	if err := w.store.Close(); err != nil {
		w.Fatal(err)
	}
	w.open()
}

func (w *world) put(key, content string) string {
	w.Helper()
	out, err := w.client.PutObject(w.Context(), &sdk.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader(content)})
	if err != nil {
		w.Fatal(err)
	}
	return *out.VersionId
}

func (w *world) remove(key string) {
	w.Helper()
	if _, err := w.client.DeleteObject(w.Context(), &sdk.DeleteObjectInput{Bucket: bucket, Key: &key}); err != nil {
		w.Fatal(err)
	}
}

// get returns a content, or an error.
func (w *world) get(key string, id *string) string {
	out, err := w.client.GetObject(context.Background(), &sdk.GetObjectInput{Bucket: bucket, Key: &key, VersionId: id})
	if err != nil {
		return err.Error()
	}
	content, err := io.ReadAll(out.Body)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func (w *world) files() []string {
	w.Helper()
	found, err := filepath.Glob(filepath.Join(w.folder(), "*"))
	if err != nil {
		w.Fatal(err)
	}
	return found
}

func TestObjectsLastOverARestart(t *testing.T) {
	w := newWorld(t)
	first := w.put("k", "one")
	w.put("k", "two")
	gone := w.put("gone", "three")
	w.remove("gone")
	w.restart()
	for got, want := range map[string]string{w.get("k", nil): "two", w.get("k", &first): "one", w.get("gone", &gone): "three"} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := w.get("gone", nil); !strings.Contains(got, "NoSuchKey") {
		t.Error(got)
	}
}

// TestOpenRemovesWhatAKilledProcessLeft: a content that was written, and whose version was not.
func TestOpenRemovesWhatAKilledProcessLeft(t *testing.T) {
	w := newWorld(t)
	w.put("k", "one")
	left := filepath.Join(w.folder(), "LEFT")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if _, err := os.Stat(left); err == nil || len(w.files()) != 1 || w.get("k", nil) != "one" {
		t.Errorf("%v, %q, %s", err, w.files(), w.get("k", nil))
	}
}

func TestDamageIsNoAnswer(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("two"), 0o600) },
		"cut":     func(path string) error { return os.Truncate(path, 1) },
		"gone":    os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("k", "one")
			if err := damage(w.files()[0]); err != nil {
				t.Fatal(err)
			}
			if got := w.get("k", nil); !strings.Contains(got, "StatusCode: 500") || !strings.Contains(got, "InternalError") {
				t.Error(got)
			}
		})
	}
}

func TestRefusedWriteLeavesNoFile(t *testing.T) {
	w := newWorld(t)
	w.put("k", "one")
	if _, err := w.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: bucket, Key: aws.String("k"), IfNoneMatch: aws.String("*")}); err == nil {
		t.Error("it was written")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, _ = w.client.PutObject(context.Background(), &sdk.PutObjectInput{
				Bucket: bucket, Key: aws.String("new"), Body: strings.NewReader("x"), IfNoneMatch: aws.String("*"),
			})
		})
	}
	all.Wait()
	if len(w.files()) != 2 {
		t.Errorf("%d files of two objects", len(w.files()))
	}
}

func TestAWriteThatTheDiskRefusesChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.put("k", "one")
	away := w.folder() + "-away"
	if err := os.Rename(w.folder(), away); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: bucket, Key: aws.String("k"), Body: strings.NewReader("two")}); err == nil {
		t.Error("it was written")
	}
	if err := os.Rename(away, w.folder()); err != nil {
		t.Fatal(err)
	}
	if got := w.get("k", nil); got != "one" {
		t.Error(got)
	}
}

// TestWhatIsNotImplementedIsRefused: with 501, and without an effect.
func TestWhatIsNotImplementedIsRefused(t *testing.T) {
	w := newWorld(t)
	w.put("k", "one")
	server := httptest.NewServer(w.engine)
	t.Cleanup(server.Close)
	for _, c := range []struct{ method, path, header, value string }{
		{"GET", "/", "", ""},
		{"GET", "/tests", "", ""}, // the first version of the listing
		{"GET", "/tests?list-type=2&delimiter=/", "", ""},
		{"GET", "/tests?list-type=2&fetch-owner=true", "", ""},
		{"GET", "/tests?list-type=1", "", ""},
		{"GET", "/tests?versions&delimiter=/", "", ""},
		{"GET", "/tests?versions&versioning", "", ""},
		{"GET", "/tests?acl", "", ""},
		{"GET", "/tests?location", "", ""},
		{"GET", "/tests?uploads", "", ""},
		{"DELETE", "/tests", "", ""},
		{"POST", "/tests?delete", "", ""},
		{"POST", "/tests/k?uploads", "", ""},
		{"PUT", "/tests/k?partNumber=1&uploadId=x", "", ""},
		{"PUT", "/tests/k?tagging", "", ""},
		{"PUT", "/tests/k", "X-Amz-Copy-Source", "/tests/other"},
		{"PUT", "/tests/k", "X-Amz-Server-Side-Encryption", "aws:kms"},
		{"PUT", "/tests/k", "X-Amz-Tagging", "a=b"},
		{"PUT", "/tests/k", "X-Amz-Storage-Class", "GLACIER"},
		{"PUT", "/tests/k", "X-Amz-Content-Sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"},
		{"PUT", "/tests/k", "X-Amz-Checksum-Sha1", "x"},
		{"PUT", "/tests/k", "X-Amz-Some-Future-Feature", "x"},
		{"PUT", "/tests/k", "Content-Encoding", "gzip"},
		{"PUT", "/tests/k", "Cache-Control", "no-store"},
		{"PUT", "/tests/k", "If-None-Match", `"an etag"`},
		{"PUT", "/tests/k", "If-Match", "*"},
		{"PUT", "/tests/k%00", "", ""},
		{"PUT", "/tests/%ff", "", ""},
		{"PUT", "/tests?versioning", "", "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>"},
		{"GET", "/tests/k?response-content-type=text/html", "", ""},
		{"GET", "/tests/k?X-Amz-Signature=presigned", "", ""},
		{"GET", "/tests/k", "Range", "bytes=-2"},
		{"GET", "/tests/k", "Range", "bytes=0-0,2-2"},
		{"GET", "/tests/k", "If-Modified-Since", "Fri, 27 Nov 2026 09:00:00 GMT"},
		{"DELETE", "/tests/k", "X-Amz-Mfa", "1"},
		{"DELETE", "/tests/k", "X-Amz-If-Match-Size", "3"},
	} {
		body := ""
		if c.header == "" {
			body = c.value
		}
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotImplemented || !strings.Contains(string(said), "<Code>NotImplemented</Code>") {
			t.Errorf("%s %s %s %s: %d %s", c.method, c.path, c.header, c.value, res.StatusCode, said)
		}
	}
	if got := w.get("k", nil); got != "one" {
		t.Error(got)
	}
}

func TestBucketsWithoutVersionsStoreNothing(t *testing.T) {
	w := newWorld(t)
	if _, err := w.client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: aws.String("plain")}); err != nil {
		t.Fatal(err)
	}
	_, err := w.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: aws.String("plain"), Key: aws.String("k"), Body: strings.NewReader("x")})
	if err == nil || !strings.Contains(err.Error(), "NotImplemented") {
		t.Error(err)
	}
}

func TestObjectsHaveALimit(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: bucket, Key: aws.String("k"), Body: strings.NewReader(strings.Repeat("x", 64<<20+1))})
	if err == nil || !strings.Contains(err.Error(), "EntityTooLarge") {
		t.Error(err)
	}
}

func (w *world) rules(rules ...types.LifecycleRule) {
	w.Helper()
	for i := range rules {
		rules[i].Status = types.ExpirationStatusEnabled
		if rules[i].Filter == nil {
			rules[i].Filter = &types.LifecycleRuleFilter{Prefix: aws.String("")}
		}
	}
	if _, err := w.client.PutBucketLifecycleConfiguration(w.Context(), &sdk.PutBucketLifecycleConfigurationInput{
		Bucket: bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
	}); err != nil {
		w.Fatal(err)
	}
}

// kept returns the number of versions and of markers.
func (w *world) kept() string {
	w.Helper()
	out, err := w.client.ListObjectVersions(w.Context(), &sdk.ListObjectVersionsInput{Bucket: bucket})
	if err != nil {
		w.Fatal(err)
	}
	return fmt.Sprintf("%d versions, %d markers, %d files", len(out.Versions), len(out.DeleteMarkers), len(w.files()))
}

func TestOldVersionsExpire(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t)
	w.rules(
		types.LifecycleRule{
			NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(30)},
			Expiration:                  &types.LifecycleExpiration{ExpiredObjectDeleteMarker: aws.Bool(true)},
		},
		types.LifecycleRule{NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1), NewerNoncurrentVersions: aws.Int32(3)}},
	)
	for i := range 6 {
		w.put("k", fmt.Sprint(i))
	}
	w.put("gone", "x")
	w.remove("gone")
	expect := func(want string) {
		t.Helper()
		if got := w.kept(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	expect("7 versions, 1 markers, 7 files")
	w.later(2 * day)
	expect("7 versions, 1 markers, 7 files")
	w.put("other", "x") // applies the rules, because an hour passed
	expect("6 versions, 1 markers, 6 files")
	w.later(29 * day)
	w.restart()
	expect("2 versions, 0 markers, 2 files")
	if w.get("k", nil) != "5" || w.get("other", nil) != "x" {
		t.Error("a current version expired")
	}
}

// TestObjectsOfAPrefixExpire: first they are deleted, then their contents go, and then the mark.
func TestObjectsOfAPrefixExpire(t *testing.T) {
	const day = 24 * time.Hour
	w := newWorld(t)
	w.rules(types.LifecycleRule{
		Filter: &types.LifecycleRuleFilter{Prefix: aws.String("short/")}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(2)},
		NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1)},
	})
	w.put("long", "x")
	id := w.put("short/k", "one")
	steps := []struct{ after, want string }{
		{"2 days", "2 versions, 0 markers, 2 files"},
		{"2 days and an hour", "2 versions, 1 markers, 2 files"},
		{"3 days and two hours", "1 versions, 1 markers, 1 files"},
		{"5 days", "1 versions, 0 markers, 1 files"},
	}
	for i, d := range []time.Duration{2 * day, time.Hour, day + time.Hour, 2 * day} {
		w.later(d)
		w.restart()
		if got := w.kept(); got != steps[i].want {
			t.Errorf("after %s: %s, want %s", steps[i].after, got, steps[i].want)
		}
		if i == 1 && (w.get("short/k", &id) != "one" || !strings.Contains(w.get("short/k", nil), "NoSuchKey")) {
			t.Error("it is not deleted with its version kept:", w.get("short/k", nil), w.get("short/k", &id))
		}
	}
	if w.get("long", nil) != "x" {
		t.Error("an object without the prefix expired")
	}
}

// TestNothingExpiresWhileItIsHeld: a backup reads the contents after its copy of the data file was taken.
func TestNothingExpiresWhileItIsHeld(t *testing.T) {
	w := newWorld(t)
	w.rules(types.LifecycleRule{NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1)}})
	w.put("k", "one")
	w.put("k", "two")
	w.later(48 * time.Hour)
	first, second := w.engine.Hold(), w.engine.Hold()
	held, err := s3.Contents(w.store)
	if err != nil || len(held) != 2 {
		t.Fatalf("%+v, %v", held, err)
	}
	first()
	w.put("other", "x")
	for _, c := range held {
		if content, err := os.ReadFile(filepath.Join(w.folder(), c.Name)); err != nil || int64(len(content)) != c.Size {
			t.Errorf("%+v: %q, %v", c, content, err)
		}
	}
	second()
	w.put("other", "y")
	if got := w.kept(); got != "3 versions, 0 markers, 3 files" {
		t.Error(got)
	}
}

// TestAVersionIsRemovedForGood, with its content; the one before it is the present one then. While the contents are held,
// the next start removes it.
func TestAVersionIsRemovedForGood(t *testing.T) {
	w := newWorld(t)
	one, two := w.put("k", "one"), w.put("k", "two")
	gone := func(id string) {
		t.Helper()
		key := "k"
		for range 2 { // one that is not there is removed already
			if _, err := w.client.DeleteObject(t.Context(), &sdk.DeleteObjectInput{Bucket: bucket, Key: &key, VersionId: &id}); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone(two)
	if got := w.get("k", nil); got != "one" || len(w.files()) != 1 {
		t.Errorf("%q, %v", got, w.files())
	}
	release := w.engine.Hold()
	gone(one)
	if got := w.get("k", nil); !strings.Contains(got, "NoSuchKey") || len(w.files()) != 1 {
		t.Errorf("%q, %v", got, w.files())
	}
	release()
	w.restart()
	if len(w.files()) != 0 {
		t.Errorf("%v stay", w.files())
	}
}

func TestOthersMustNotChangeTheFolder(t *testing.T) {
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := os.Mkdir(filepath.Join(dir, "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "objects"), 0o777); err != nil { //nolint:gosec // what is refused
		t.Fatal(err)
	}
	if _, err := s3.Open(store, filepath.Join(dir, "objects")); err == nil {
		t.Error("a folder that others can change was opened")
	}
}
