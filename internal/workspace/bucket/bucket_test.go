package bucket_test

import (
	"errors"
	"flag"
	"fmt"
	"localaws/disk"
	"localaws/inproc"
	engine "localaws/s3"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"piloto/infra/local/fixture/storetest"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/workspace"
	"piloto/internal/workspace/bucket"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filetool"
)

const name = "files-of-tests"

const canary = "CANARY-of-the-secret-key"

// client points the production client, with its retries but without their pauses, at a handler in this process.
func client(h http.Handler) *s3.Client { return clientOf(inproc.Transport{Handler: h}) }

func clientOf(h s3.HTTPClient) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", canary, canary), UsePathStyle: true,
		HTTPClient: h, BaseEndpoint: aws.String("http://engine.test"),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			o.RateLimiter = ratelimit.None
		}),
	})
}

// serve returns an engine with a bucket.
func serve(t testing.TB, options ...engine.Option) *engine.Engine {
	t.Helper()
	dir := t.TempDir()
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	e, err := engine.Open(store, filepath.Join(dir, "objects"), options...)
	if err != nil {
		t.Fatal(err)
	}
	makeBucket(t, client(e))
	return e
}

func makeBucket(t testing.TB, c *s3.Client) {
	t.Helper()
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: aws.String(name), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
}

// projects numbers workspaces, beginning with a number that no earlier run had at the same endpoint.
var projects atomic.Int64

func init() { projects.Store(time.Now().UnixNano()) }

// prefixOf returns the prefix of a project.
func prefixOf(account ids.Account, project string) string {
	return bucket.Prefix(files.Place{Account: account, Project: project})
}

// open returns an empty workspace.
func open(c *s3.Client, limits workspace.Limits) *bucket.Bucket {
	return bucket.New(bucket.Config{
		Client: c, Name: name, Prefix: prefixOf("ácc/1", fmt.Sprint(projects.Add(1))), Limits: limits, Cache: cached, Now: time.Now,
	})
}

// endpoint may be that of moto. moto copies all contents to files for each listing of versions: the whole suite takes it
// 50 GB of disk, so run its tests one by one.
var endpoint = flag.String("endpoint", "", "URL of the S3 to test instead of the embedded engine in process")

func TestBucketIsAStore(t *testing.T) {
	var c *s3.Client
	if *endpoint != "" {
		c = s3.New(s3.Options{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""), UsePathStyle: true, BaseEndpoint: endpoint,
		})
		makeBucket(t, c)
	} else {
		c = client(serve(t))
	}
	storetest.Run(t, func(_ *testing.T, limits workspace.Limits) workspace.Store { return open(c, limits) })
}

// cached is the cache of all workspaces that open returns.
var cached = bucket.NewCache(1 << 20)

func mustWrite(t *testing.T, s workspace.Store, name, content, version string) workspace.File {
	t.Helper()
	f, err := s.Write(t.Context(), name, []byte(content), version)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// large fills a workspace with as many files as it may have, of 1,000 bytes each.
func large(t testing.TB, e *engine.Engine, prefix string) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range workspace.MaxFiles / 4 {
				key := fmt.Sprintf("%sdir%d/file%d.go", prefix, worker, i)
				content := strings.NewReader((key + strings.Repeat("\nline", 200))[:1000])
				if _, err := client(e).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(name), Key: &key, Body: content}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestAnUnchangedTreeTakesTwoRequests: to list it, and to search it again.
func TestAnUnchangedTreeTakesTwoRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("a large tree")
	}
	e := serve(t)
	n := &network{Transport: inproc.Transport{Handler: e}}
	prefix := prefixOf("acc", "large")
	large(t, e, prefix)
	s := bucket.New(bucket.Config{Client: clientOf(n), Name: name, Prefix: prefix, Cache: bucket.NewCache(32 << 20), Now: time.Now})
	for range 2 {
		n.asked = nil
		if l, err := s.List(t.Context()); err != nil || len(l.Files) != workspace.MaxFiles || len(n.asked) != 2 {
			t.Errorf("%d files, %v, %d requests", len(l.Files), err, len(n.asked))
		}
	}
	if _, err := s.Write(t.Context(), "more", nil, ""); !errors.Is(err, workspace.ErrFull) {
		t.Error(err)
	}
	files := filetool.New(s, filetool.Options{})
	grep := func(want string, requests int) {
		t.Helper()
		n.asked = nil
		for _, tool := range files.Tools() {
			if tool.Name != "grep" {
				continue
			}
			if said := tool.Do(t.Context(), []byte(`{"text":"dir3/file77.go"}`)); !strings.Contains(said.Output, want) {
				t.Errorf("%+v", said)
			}
		}
		if len(n.asked) != requests {
			t.Errorf("%d requests, want %d", len(n.asked), requests)
		}
	}
	grep("(1 match)", 2+workspace.MaxFiles)
	grep("(1 match)", 2)
	f, err := s.Stat(t.Context(), "dir3/file77.go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client(e).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(name), Key: aws.String(prefix + f.Name), Body: strings.NewReader("of somebody else"),
	}); err != nil {
		t.Fatal(err)
	}
	grep("No line matches.", 3)
}

func TestTheCacheIsBounded(t *testing.T) {
	e := serve(t)
	n := &network{Transport: inproc.Transport{Handler: e}}
	s := bucket.New(bucket.Config{Client: clientOf(n), Name: name, Prefix: prefixOf("a", "p"), Cache: bucket.NewCache(10_000), Now: time.Now})
	written := map[string]workspace.File{}
	for _, file := range []string{"a", "b", "c", "d", "e", "f"} {
		written[file] = mustWrite(t, s, file, strings.Repeat(file, 2000), "")
	}
	written["large"] = mustWrite(t, s, "large", strings.Repeat("x", 2501), "")
	requests := func(file string) int {
		n.asked = nil
		content, f, err := s.Read(t.Context(), file, written[file].Version, 1, 5)
		if err != nil || len(content) != 5 || f.Size != written[file].Size {
			t.Errorf("%q of %+v, %v", content, f, err)
		}
		return len(n.asked)
	}
	for file, want := range map[string]int{"f": 0, "e": 0, "d": 0, "c": 0, "b": 1, "a": 1, "large": 1} {
		if got := requests(file); got != want {
			t.Errorf("%s takes %d requests, want %d", file, got, want)
		}
	}
}

// TestRequestsOverTLS, as to S3 itself: there the client could send contents in another form, with a checksum at the end.
func TestRequestsOverTLS(t *testing.T) {
	server := httptest.NewTLSServer(serve(t))
	t.Cleanup(server.Close)
	s := open(s3.New(s3.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", canary, ""), UsePathStyle: true,
		HTTPClient: server.Client(), BaseEndpoint: &server.URL,
	}), workspace.Limits{})
	content := strings.Repeat("ñ line\n", 100_000)
	f := mustWrite(t, s, "año/a b+c.txt", content, "")
	read, _, err := workspace.ReadAll(t.Context(), s, f.Name, "")
	if err != nil || string(read) != content {
		t.Errorf("%d bytes, %v", len(read), err)
	}
	if err := s.Delete(t.Context(), f.Name, f.Version); err != nil {
		t.Error(err)
	}
	if all, err := s.Versions(t.Context(), f.Name); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPlacesDoNotMeet(t *testing.T) {
	if p := prefixOf("acc", "01J"); p != "files/acc/p/01J/" {
		t.Errorf("%s: files that are stored would be lost", p)
	}
	if p := bucket.Prefix(files.PlaceOf("acc", "", "01J")); p != "files/acc/c/01J/" {
		t.Errorf("%s: files that are stored would be lost", p)
	}
	seen := map[string]string{}
	ids := []ids.Account{"a", "b", "a/b", "b/c", "bc", "ab", "a%2Fb", "p", "c", "/", "a/p/b", "p/a", "..", ".", "ñ", "a b", "a+b"}
	for _, account := range append(ids, "") {
		for _, id := range ids {
			for _, place := range []files.Place{{Account: account, Project: string(id)}, {Account: account, Chat: string(id)}} {
				p := bucket.Prefix(place)
				for other, whose := range seen {
					if strings.HasPrefix(p, other) || strings.HasPrefix(other, p) {
						t.Fatalf("%q has the prefix %s, and %s has %s", place, p, whose, other)
					}
				}
				seen[p] = fmt.Sprintf("%q", place)
			}
		}
	}
}

func TestANameThatMakesTheKeyTooLongIsRefused(t *testing.T) {
	s := open(client(serve(t)), workspace.Limits{})
	long := strings.Repeat("d/", 511) + "aa"
	if err := workspace.CheckName(long); err != nil {
		t.Fatal(err)
	}
	_, err := s.Write(t.Context(), long, nil, "")
	if !errors.Is(err, workspace.ErrName) || fault.Of(err).Inner["why"].Code != "workspace.name.store" {
		t.Error(err)
	}
}

func TestVersionsAreKeptForThirtyDays(t *testing.T) {
	var mu sync.Mutex
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	later := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	const day = 24 * time.Hour
	s := bucket.New(bucket.Config{Client: client(serve(t, engine.WithClock(clock))), Name: name, Prefix: prefixOf("a", "p"), Now: clock})
	kept := func(want ...string) {
		t.Helper()
		all, err := s.Versions(t.Context(), "a")
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			t.Fatal(err)
		}
		var got []string
		for _, f := range all {
			content, _, err := s.Read(t.Context(), "a", f.Version, 0, 10)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(content))
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("kept %q, want %q", got, want)
		}
	}
	first := mustWrite(t, s, "a", "one", "")
	later(40 * day)
	kept("one") // it is old, but it was not replaced
	second := mustWrite(t, s, "a", "two", first.Version)
	later(29 * day)
	kept("two", "one")
	if err := s.Delete(t.Context(), "a", second.Version); err != nil {
		t.Fatal(err)
	}
	later(2 * day)
	kept("two")
	if _, _, err := s.Read(t.Context(), "a", first.Version, 0, 10); !errors.Is(err, workspace.ErrNotFound) {
		t.Error(err)
	}
	later(29 * day)
	kept()
}

// TestObjectsThatNoFileIsAreLeftOut: others may have put them there.
func TestObjectsThatNoFileIsAreLeftOut(t *testing.T) {
	e := serve(t)
	s := bucket.New(bucket.Config{Client: client(e), Name: name, Prefix: prefixOf("a", "p"), Now: time.Now})
	for _, object := range []string{".env", "../x", "dir/", "a\\b", "id_rsa"} {
		key := prefixOf("a", "p") + object
		if _, err := client(e).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(name), Key: &key}); err != nil {
			t.Fatal(err)
		}
	}
	f := mustWrite(t, s, "a", "1", "")
	if l, err := s.List(t.Context()); err != nil || len(l.Files) != 1 || l.Files[0].Version != f.Version {
		t.Errorf("%+v, %v", l, err)
	}
}
