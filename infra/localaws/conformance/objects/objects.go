// Package objects checks an S3 against the rules of AWS for buckets with versioning. The checks come from the API
// reference and the user guide of S3, and run against any endpoint through the production SDK client.
//
// These rules hold:
//
//   - A check is independent: it has a prefix of keys of its own in the shared bucket, so that checks may run in
//     any order and concurrently.
//   - A check expects the behaviour of AWS. A refusal that is only of this project's engine is a test of the engine, not a check.
//   - A check's name is unique, and does not change: known differences refer to it.
package objects

import (
	"context"
	"crypto/md5" //nolint:gosec // S3's ETag is the MD5 of the content
	"errors"
	"fmt"
	"io"
	"localaws/conformance/outcome"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// Check is one rule of the service: steps with the expected responses.
type Check struct {
	Area  string // a row of the conformance table
	Name  string
	Steps []Step
}

// Step is a call and its expected result. A failure is "!STATUS Code".
type Step struct {
	Do   Call
	Want string
}

// Call makes a request and renders its result.
type Call func(t *try) string

// Checks lists every check, by area.
func Checks() []Check {
	return slices.Concat(bucketChecks(), writeChecks(), readChecks(), deleteChecks(), listChecks(), versionChecks(), lifecycleChecks(), contentionChecks())
}

// Env is one endpoint under test, with the bucket that the checks share.
type Env struct {
	client *s3.Client
	bucket string
}

// Client returns an SDK client without retries; a nil h is the network.
func Client(at string, h aws.HTTPClient) *s3.Client {
	if h == nil {
		h = &http.Client{Timeout: time.Minute}
	}
	return s3.New(s3.Options{
		Region: "us-east-1", BaseEndpoint: &at, HTTPClient: h, UsePathStyle: true, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// Open creates the shared bucket at an endpoint, under a name of its own.
func Open(ctx context.Context, at string, h aws.HTTPClient) (*Env, error) {
	e := &Env{client: Client(at, h), bucket: fmt.Sprintf("c%08x", rand.Uint32())}
	if _, err := e.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &e.bucket}); err != nil {
		return nil, err
	}
	_, err := e.client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &e.bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	return e, err
}

// Run runs every check against every subject. It is an outcome.Run.
func Run(ctx context.Context, subjects ...outcome.Subject) ([]outcome.Outcome, error) {
	var out []outcome.Outcome
	for _, c := range Checks() {
		out = append(out, outcome.Outcome{Area: c.Area, Name: c.Area + "/" + c.Name, Failed: map[string]string{}, Skipped: map[string]string{}})
	}
	for _, subject := range subjects {
		env, err := Open(ctx, subject.URL, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: a bucket for the checks: %w", subject.Name, err)
		}
		for i, c := range Checks() {
			if err := c.Run(ctx, env); err != nil {
				out[i].Failed[subject.Name] = err.Error()
			}
		}
	}
	return out, ctx.Err()
}

// Run returns an error for the first step with an unexpected response.
func (c Check) Run(ctx context.Context, e *Env) error {
	t := &try{Env: e, ctx: ctx, prefix: url.PathEscape(c.Area+" "+c.Name) + "/"}
	for i, s := range c.Steps {
		if got := s.Do(t); got != s.Want {
			return fmt.Errorf("step %d: got %.1000s\nwant %.1000s", i+1, got, s.Want)
		}
	}
	return nil
}

// try is one running check.
type try struct {
	*Env
	ctx    context.Context //nolint:containedctx // a try is one call
	prefix string
	ids    []string // of the versions that were written, markers too
}

func (t *try) key(name string) *string { return aws.String(t.prefix + name) }

// said renders a result or a failure.
func said(result string, err error) string {
	if err == nil {
		return result
	}
	var answer smithy.APIError
	var res *awshttp.ResponseError
	if !errors.As(err, &answer) || !errors.As(err, &res) {
		return "!" + err.Error()
	}
	return fmt.Sprintf("!%d %s", res.HTTPStatusCode(), answer.ErrorCode())
}

// etag returns the ETag of a content.
func etag(content string) *string {
	return aws.String(fmt.Sprintf(`"%x"`, md5.Sum([]byte(content)))) //nolint:gosec // as above
}

// put writes an object. It says "ok" when the answer has the ETag of the content and a new version id.
func put(key, content string, with ...func(*s3.PutObjectInput)) Call {
	return func(t *try) string {
		in := &s3.PutObjectInput{Bucket: &t.bucket, Key: t.key(key), Body: strings.NewReader(content)}
		for _, set := range with {
			set(in)
		}
		out, err := t.client.PutObject(t.ctx, in)
		if err != nil {
			return said("", err)
		}
		id := aws.ToString(out.VersionId)
		if aws.ToString(out.ETag) != *etag(content) || id == "" || id == "null" || slices.Contains(t.ids, id) {
			return fmt.Sprintf("ETag %s, version %q", aws.ToString(out.ETag), id)
		}
		t.ids = append(t.ids, id)
		return "ok"
	}
}

func ifNone(in *s3.PutObjectInput) { in.IfNoneMatch = aws.String("*") }

func ifMatch(content string) func(*s3.PutObjectInput) {
	return func(in *s3.PutObjectInput) { in.IfMatch = etag(content) }
}

// get reads an object. It says its content; with a range also which part it is.
func get(key string, with ...func(*try, *s3.GetObjectInput)) Call {
	return func(t *try) string {
		in := &s3.GetObjectInput{Bucket: &t.bucket, Key: t.key(key)}
		for _, set := range with {
			set(t, in)
		}
		out, err := t.client.GetObject(t.ctx, in)
		if err != nil {
			return said("", err)
		}
		defer func() { _ = out.Body.Close() }()
		content, err := io.ReadAll(out.Body)
		if err != nil {
			return "!" + err.Error()
		}
		if aws.ToInt64(out.ContentLength) != int64(len(content)) || out.LastModified == nil || out.VersionId == nil {
			return fmt.Sprintf("length %d, modified %v, version %q", aws.ToInt64(out.ContentLength), out.LastModified, aws.ToString(out.VersionId))
		}
		if out.ContentRange != nil {
			return string(content) + " of " + *out.ContentRange
		}
		if aws.ToString(out.ETag) != *etag(string(content)) {
			return "ETag " + aws.ToString(out.ETag)
		}
		return string(content)
	}
}

// version asks for the version that was written so many writes ago: 0 for the first write of the check.
func version(n int) func(*try, *s3.GetObjectInput) {
	return func(t *try, in *s3.GetObjectInput) { in.VersionId = &t.ids[n] }
}

func part(r string) func(*try, *s3.GetObjectInput) {
	return func(_ *try, in *s3.GetObjectInput) { in.Range = &r }
}

func ifIs(content string) func(*try, *s3.GetObjectInput) {
	return func(_ *try, in *s3.GetObjectInput) { in.IfMatch = etag(content) }
}

func ifNot(content string) func(*try, *s3.GetObjectInput) {
	return func(_ *try, in *s3.GetObjectInput) { in.IfNoneMatch = etag(content) }
}

// head describes an object: its size, type and metadata.
func head(key string, with ...func(*try, *s3.HeadObjectInput)) Call {
	return func(t *try) string {
		in := &s3.HeadObjectInput{Bucket: &t.bucket, Key: t.key(key)}
		for _, set := range with {
			set(t, in)
		}
		out, err := t.client.HeadObject(t.ctx, in)
		if err != nil {
			return said("", err)
		}
		return fmt.Sprintf("%d %s %v %s", aws.ToInt64(out.ContentLength), aws.ToString(out.ContentType), out.Metadata, aws.ToString(out.ChecksumSHA256))
	}
}

// remove deletes an object. It says "marked" when the answer has the id of a new delete marker.
func remove(key string, match *string) Call {
	return func(t *try) string {
		out, err := t.client.DeleteObject(t.ctx, &s3.DeleteObjectInput{Bucket: &t.bucket, Key: t.key(key), IfMatch: match})
		if err != nil {
			return said("", err)
		}
		id := aws.ToString(out.VersionId)
		if !aws.ToBool(out.DeleteMarker) || id == "" || slices.Contains(t.ids, id) {
			return fmt.Sprintf("marker %v, version %q", aws.ToBool(out.DeleteMarker), id)
		}
		t.ids = append(t.ids, id)
		return "marked"
	}
}
