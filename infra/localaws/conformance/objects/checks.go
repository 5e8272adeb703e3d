package objects

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func bucketChecks() []Check {
	const area = "bucket"
	missing := aws.String("there-is-no-such-bucket")
	return []Check{
		{area, "one that is there says so", []Step{{func(t *try) string {
			_, err := t.client.HeadBucket(t.ctx, &s3.HeadBucketInput{Bucket: &t.bucket})
			return said("there", err)
		}, "there"}}},
		{area, "one that is not there is not found", []Step{
			{func(t *try) string {
				_, err := t.client.HeadBucket(t.ctx, &s3.HeadBucketInput{Bucket: missing})
				return said("", err)
			}, "!404 NotFound"},
			{func(t *try) string {
				_, err := t.client.ListObjectsV2(t.ctx, &s3.ListObjectsV2Input{Bucket: missing})
				return said("", err)
			}, "!404 NoSuchBucket"},
			{func(t *try) string {
				_, err := t.client.PutObject(t.ctx, &s3.PutObjectInput{Bucket: missing, Key: aws.String("k")})
				return said("", err)
			}, "!404 NoSuchBucket"},
		}},
		{area, "its versioning is on", []Step{{func(t *try) string {
			out, err := t.client.GetBucketVersioning(t.ctx, &s3.GetBucketVersioningInput{Bucket: &t.bucket})
			if err != nil {
				return said("", err)
			}
			return string(out.Status)
		}, "Enabled"}}},
		{area, "its owner may create it again in us-east-1", []Step{{func(t *try) string {
			_, err := t.client.CreateBucket(t.ctx, &s3.CreateBucketInput{Bucket: &t.bucket})
			return said("ok", err)
		}, "ok"}}},
	}
}

func writeChecks() []Check {
	const area = "write"
	sum := sha256.Sum256([]byte("one"))
	good, bad := base64.StdEncoding.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(make([]byte, len(sum)))
	sent := func(checksum string) func(*s3.PutObjectInput) {
		return func(in *s3.PutObjectInput) { in.ChecksumSHA256 = &checksum }
	}
	described := func(in *s3.PutObjectInput) {
		in.ContentType = aws.String("text/markdown")
		in.Metadata = map[string]string{"mark": "m-1"}
	}
	return []Check{
		{area, "an object is read as it was written", []Step{{put("k", "one"), "ok"}, {get("k"), "one"}, {put("k", ""), "ok"}, {get("k"), ""}}},
		{area, "every byte of a key counts", []Step{
			{put("a+b c%2F&=ñ日/.x", "one"), "ok"},
			{get("a+b c%2F&=ñ日/.x"), "one"},
			{head("a+b c%2F&=ñ日/.x"), "3 application/octet-stream map[] "},
			{get("a b c%2F&=ñ日/.x"), "!404 NoSuchKey"},
		}},
		{area, "a key has 1,024 bytes at most", []Step{{func(t *try) string {
			_, err := t.client.PutObject(t.ctx, &s3.PutObjectInput{Bucket: &t.bucket, Key: aws.String(strings.Repeat("k", 1025))})
			return said("", err)
		}, "!400 KeyTooLongError"}}},
		{area, "type and metadata are kept", []Step{{put("k", "one", described), "ok"}, {head("k"), "3 text/markdown map[mark:m-1] "}}},
		{area, "a type that was not given is a default", []Step{{put("k", "one", func(in *s3.PutObjectInput) { in.ContentType = nil }), "ok"}, {head("k"), "3 application/octet-stream map[] "}}},
		{area, "a checksum is compared and kept", []Step{
			{put("k", "one", sent(bad)), "!400 BadDigest"},
			{get("k"), "!404 NoSuchKey"},
			{put("k", "one", sent(good)), "ok"},
			{head("k", func(_ *try, in *s3.HeadObjectInput) { in.ChecksumMode = types.ChecksumModeEnabled }), "3 application/octet-stream map[] " + good},
		}},
		{area, "Content-MD5 is compared", []Step{{put("k", "one", func(in *s3.PutObjectInput) { in.ContentMD5 = aws.String("AAAAAAAAAAAAAAAAAAAAAA==") }), "!400 BadDigest"}}},
		{"condition", "If-None-Match: * makes an object once", []Step{
			{put("k", "one", ifNone), "ok"}, {put("k", "two", ifNone), "!412 PreconditionFailed"}, {get("k"), "one"},
		}},
		{"condition", "If-None-Match: * makes an object again after it was deleted", []Step{
			{put("k", "one", ifNone), "ok"}, {remove("k", nil), "marked"}, {put("k", "two", ifNone), "ok"}, {get("k"), "two"},
		}},
		{"condition", "If-Match replaces the version that has the ETag", []Step{
			{put("k", "one"), "ok"}, {put("k", "two", ifMatch("one")), "ok"}, {put("k", "three", ifMatch("one")), "!412 PreconditionFailed"}, {get("k"), "two"},
		}},
		{"condition", "If-Match of an earlier version fails", []Step{
			{put("k", "one"), "ok"}, {put("k", "two"), "ok"}, {put("k", "three", ifMatch("one")), "!412 PreconditionFailed"},
		}},
		{"condition", "If-Match of no object fails", []Step{{put("k", "one", ifMatch("one")), "!404 NoSuchKey"}, {get("k"), "!404 NoSuchKey"}}},
		{"condition", "If-Match of a deleted object fails", []Step{
			{put("k", "one"), "ok"}, {remove("k", nil), "marked"}, {put("k", "two", ifMatch("one")), "!404 NoSuchKey"}, {get("k"), "!404 NoSuchKey"},
		}},
		{"condition", "a refused write leaves no version", []Step{
			{put("k", "one"), "ok"},
			{put("k", "two", ifNone), "!412 PreconditionFailed"},
			{put("k", "two", ifMatch("zero")), "!412 PreconditionFailed"},
			{versionsOf("k", 0), "k:0*"},
		}},
	}
}

func readChecks() []Check {
	const area = "read"
	return []Check{
		{area, "an object that is not there", []Step{{get("k"), "!404 NoSuchKey"}, {head("k"), "!404 NotFound"}}},
		{area, "a range", []Step{
			{put("k", "0123456789"), "ok"},
			{get("k", part("bytes=2-4")), "234 of bytes 2-4/10"},
			{get("k", part("bytes=0-0")), "0 of bytes 0-0/10"},
			{get("k", part("bytes=8-99")), "89 of bytes 8-9/10"},
			{get("k", part("bytes=7-")), "789 of bytes 7-9/10"},
		}},
		{area, "a range after the end", []Step{{put("k", "0123456789"), "ok"}, {get("k", part("bytes=10-12")), "!416 InvalidRange"}}},
		{area, "a range of an empty object", []Step{{put("k", ""), "ok"}, {get("k", part("bytes=0-4")), "!416 InvalidRange"}}},
		{area, "If-Match and If-None-Match", []Step{
			{put("k", "one"), "ok"},
			{get("k", ifIs("one")), "one"},
			{get("k", ifIs("two")), "!412 PreconditionFailed"},
			{get("k", ifNot("two")), "one"},
			{get("k", ifNot("one")), "!304 NotModified"},
		}},
		{area, "a condition and a range", []Step{
			{put("k", "one"), "ok"}, {get("k", ifIs("one"), part("bytes=1-1")), "n of bytes 1-1/3"}, {get("k", ifIs("two"), part("bytes=1-1")), "!412 PreconditionFailed"},
		}},
		{area, "an earlier version", []Step{
			{put("k", "one"), "ok"},
			{put("k", "two"), "ok"},
			{get("k", version(0)), "one"},
			{get("k", version(1)), "two"},
			{get("k", version(0), part("bytes=1-")), "ne of bytes 1-2/3"},
			{head("k", func(t *try, in *s3.HeadObjectInput) { in.VersionId = &t.ids[0] }), "3 application/octet-stream map[] "},
		}},
		{area, "a version of another object", []Step{{put("k", "one"), "ok"}, {put("l", "two"), "ok"}, {get("l", version(0)), "!404 NoSuchVersion"}}},
		{area, "a version id that cannot be one", []Step{
			{put("k", "one"), "ok"}, {get("k", func(_ *try, in *s3.GetObjectInput) { in.VersionId = aws.String("no id") }), "!400 InvalidArgument"},
		}},
	}
}

func deleteChecks() []Check {
	const area = "delete"
	return []Check{
		{area, "an object is gone, and its versions can be read", []Step{
			{put("k", "one"), "ok"}, {remove("k", nil), "marked"}, {get("k"), "!404 NoSuchKey"}, {head("k"), "!404 NotFound"}, {get("k", version(0)), "one"},
		}},
		{area, "an object that is not there gets a marker", []Step{{remove("k", nil), "marked"}, {versionsOf("k", 0), "k:0-*"}}},
		{area, "a marker cannot be read", []Step{{put("k", "one"), "ok"}, {remove("k", nil), "marked"}, {get("k", version(1)), "!405 MethodNotAllowed"}}},
		{area, "If-Match deletes the version that has the ETag", []Step{
			{put("k", "one"), "ok"},
			{put("k", "two"), "ok"},
			{remove("k", etag("one")), "!412 PreconditionFailed"},
			{get("k"), "two"},
			{remove("k", etag("two")), "marked"},
			{get("k"), "!404 NoSuchKey"},
		}},
		{area, "If-Match of an object that is not there", []Step{{remove("k", etag("one")), "!404 NoSuchKey"}, {versionsOf("k", 0), ""}}},
	}
}

func lifecycleChecks() []Check {
	rules := &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{
		{
			ID: aws.String("age"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
			NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(30)},
			Expiration:                  &types.LifecycleExpiration{ExpiredObjectDeleteMarker: aws.Bool(true)},
		},
		{
			ID: aws.String("number"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
			NoncurrentVersionExpiration: &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1), NewerNoncurrentVersions: aws.Int32(20)},
		},
	}}
	show := func(t *try) string {
		out, err := t.client.GetBucketLifecycleConfiguration(t.ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: &t.bucket})
		if err != nil {
			return said("", err)
		}
		var b strings.Builder
		for _, r := range out.Rules {
			n := r.NoncurrentVersionExpiration
			fmt.Fprintf(&b, "%s %s %d %d %v;", aws.ToString(r.ID), r.Status, aws.ToInt32(n.NoncurrentDays), aws.ToInt32(n.NewerNoncurrentVersions), r.Expiration != nil)
		}
		return b.String()
	}
	return []Check{{"lifecycle", "rules about versions are kept as they were given", []Step{
		{show, "!404 NoSuchLifecycleConfiguration"},
		{func(t *try) string {
			_, err := t.client.PutBucketLifecycleConfiguration(t.ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &t.bucket, LifecycleConfiguration: rules})
			return said("ok", err)
		}, "ok"},
		{show, "age Enabled 30 0 true;number Enabled 1 20 false;"},
	}}}
}

// contentionChecks let several writers race.
func contentionChecks() []Check {
	race := func(with func(*s3.PutObjectInput)) Call {
		return func(t *try) string {
			const writers = 6
			var all sync.WaitGroup
			results := make([]string, writers)
			for i := range writers {
				all.Go(func() {
					in := &s3.PutObjectInput{Bucket: &t.bucket, Key: t.key("k"), Body: strings.NewReader(fmt.Sprint(i))}
					with(in)
					_, err := t.client.PutObject(t.ctx, in)
					results[i] = said("ok", err)
				})
			}
			all.Wait()
			won := 0
			for _, r := range results {
				switch r {
				case "ok":
					won++
				case "!412 PreconditionFailed", "!409 ConditionalRequestConflict":
				default:
					return r
				}
			}
			return fmt.Sprint(won)
		}
	}
	return []Check{
		{"contention", "one of many makes an object", []Step{{race(ifNone), "1"}}},
		{"contention", "one of many replaces a version", []Step{{put("k", "start"), "ok"}, {race(ifMatch("start")), "1"}}},
	}
}

// decoded returns a key of an answer.
func decoded(key *string, e types.EncodingType) string {
	if e != types.EncodingTypeUrl {
		return aws.ToString(key)
	}
	plain, err := url.QueryUnescape(aws.ToString(key))
	if err != nil {
		return "!" + err.Error()
	}
	return plain
}
