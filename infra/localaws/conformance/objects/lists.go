package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// keysOf lists the keys that begin with a text, in pages of some. It says the keys, with "|" between pages.
func keysOf(prefix string, page int32, with ...func(*try, *s3.ListObjectsV2Input)) Call {
	return func(t *try) string {
		in := &s3.ListObjectsV2Input{Bucket: &t.bucket, Prefix: t.key(prefix), EncodingType: types.EncodingTypeUrl}
		if page > 0 {
			in.MaxKeys = &page
		}
		for _, set := range with {
			set(t, in)
		}
		var pages []string
		for len(pages) < 20 {
			out, err := t.client.ListObjectsV2(t.ctx, in)
			if err != nil {
				return said("", err)
			}
			if int(aws.ToInt32(out.KeyCount)) != len(out.Contents) {
				return fmt.Sprintf("KeyCount %d of %d", aws.ToInt32(out.KeyCount), len(out.Contents))
			}
			var keys []string
			for _, o := range out.Contents {
				keys = append(keys, strings.TrimPrefix(decoded(o.Key, out.EncodingType), t.prefix))
			}
			pages = append(pages, strings.Join(keys, " "))
			if !aws.ToBool(out.IsTruncated) {
				break
			}
			in.ContinuationToken = out.NextContinuationToken
		}
		return strings.Join(pages, "|")
	}
}

func listChecks() []Check {
	const area = "list"
	five := []Step{{put("b", "1"), "ok"}, {put("a/x", "1"), "ok"}, {put("a", "1"), "ok"}, {put("ñ&+ ", "1"), "ok"}, {put("B", "1"), "ok"}}
	with := func(more ...Step) []Step { return append(slices.Clone(five), more...) }
	return []Check{
		{area, "keys are in the order of their bytes", with(Step{keysOf("", 0), "B a a/x b ñ&+ "})},
		{area, "a prefix", with(Step{keysOf("a", 0), "a a/x"}, Step{keysOf("a/", 0), "a/x"}, Step{keysOf("none", 0), ""})},
		{area, "pages", with(Step{keysOf("", 2), "B a|a/x b|ñ&+ "}, Step{keysOf("", 5), "B a a/x b ñ&+ "}, Step{keysOf("", 1), "B|a|a/x|b|ñ&+ "})},
		{area, "keys after one", with(
			Step{keysOf("", 0, func(t *try, in *s3.ListObjectsV2Input) { in.StartAfter = t.key("a") }), "a/x b ñ&+ "},
			Step{keysOf("", 2, func(t *try, in *s3.ListObjectsV2Input) { in.StartAfter = t.key("a0") }), "b ñ&+ "},
		)},
		{area, "no key", with(Step{func(t *try) string {
			out, err := t.client.ListObjectsV2(t.ctx, &s3.ListObjectsV2Input{Bucket: &t.bucket, Prefix: &t.prefix, MaxKeys: aws.Int32(0)})
			if err != nil {
				return said("", err)
			}
			return fmt.Sprintf("%d %v", len(out.Contents), aws.ToBool(out.IsTruncated))
		}, "0 false"})},
		{area, "a wrong continuation token", []Step{{func(t *try) string {
			_, err := t.client.ListObjectsV2(t.ctx, &s3.ListObjectsV2Input{Bucket: &t.bucket, ContinuationToken: aws.String("*")})
			return said("", err)
		}, "!400 InvalidArgument"}}},
		{area, "deleted objects are left out", with(Step{remove("a", nil), "marked"}, Step{keysOf("a", 0), "a/x"}, Step{keysOf("", 2), "B a/x|b ñ&+ "})},
		{area, "size and ETag are those of the current version", []Step{{put("k", "one"), "ok"}, {put("k", "three"), "ok"}, {func(t *try) string {
			out, err := t.client.ListObjectsV2(t.ctx, &s3.ListObjectsV2Input{Bucket: &t.bucket, Prefix: &t.prefix})
			if err != nil || len(out.Contents) != 1 {
				return said(fmt.Sprint(len(out.Contents)), err)
			}
			o := out.Contents[0]
			return fmt.Sprintf("%d %v %s %v", aws.ToInt64(o.Size), aws.ToString(o.ETag) == *etag("three"), o.StorageClass, o.LastModified.IsZero())
		}, "5 true STANDARD false"}}},
	}
}

// versionsOf lists versions and markers, in pages of some. It says for each its key, the number of its write in the
// check, "-" for a marker and "*" for the current one. An answer has versions and markers in lists of their own, so
// they are sorted by key, the newest first. Between pages is "|".
func versionsOf(prefix string, page int32) Call {
	return func(t *try) string {
		in := &s3.ListObjectVersionsInput{Bucket: &t.bucket, Prefix: t.key(prefix), EncodingType: types.EncodingTypeUrl}
		if page > 0 {
			in.MaxKeys = &page
		}
		var pages []string
		for len(pages) < 20 {
			out, err := t.client.ListObjectVersions(t.ctx, in)
			if err != nil {
				return said("", err)
			}
			pages = append(pages, t.page(out))
			if !aws.ToBool(out.IsTruncated) {
				break
			}
			in.KeyMarker, in.VersionIdMarker = aws.String(decoded(out.NextKeyMarker, out.EncodingType)), out.NextVersionIdMarker
		}
		return strings.Join(pages, "|")
	}
}

func (t *try) page(out *s3.ListObjectVersionsOutput) string {
	type entry struct {
		key  string
		n    int
		mark string
	}
	var all []entry
	add := func(key, id *string, latest *bool, mark string) {
		if aws.ToBool(latest) {
			mark += "*"
		}
		all = append(all, entry{strings.TrimPrefix(decoded(key, out.EncodingType), t.prefix), slices.Index(t.ids, aws.ToString(id)), mark})
	}
	for _, v := range out.Versions {
		add(v.Key, v.VersionId, v.IsLatest, "")
	}
	for _, m := range out.DeleteMarkers {
		add(m.Key, m.VersionId, m.IsLatest, "-")
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		if a.key != b.key {
			return strings.Compare(a.key, b.key)
		}
		return b.n - a.n
	})
	var s []string
	for _, e := range all {
		s = append(s, fmt.Sprintf("%s:%d%s", e.key, e.n, e.mark))
	}
	return strings.Join(s, " ")
}

func versionChecks() []Check {
	const area = "versions"
	some := []Step{{put("a", "1"), "ok"}, {put("b", "1"), "ok"}, {put("a", "2"), "ok"}, {remove("a", nil), "marked"}, {put("a/x", "1"), "ok"}, {put("a", "3"), "ok"}}
	with := func(more ...Step) []Step { return append(slices.Clone(some), more...) }
	return []Check{
		{area, "by key, the newest first", with(Step{versionsOf("", 0), "a:5* a:3- a:2 a:0 a/x:4* b:1*"})},
		{area, "a prefix", with(Step{versionsOf("a/", 0), "a/x:4*"})},
		{area, "pages within a key", with(Step{versionsOf("", 2), "a:5* a:3-|a:2 a:0|a/x:4* b:1*"}, Step{versionsOf("a", 3), "a:5* a:3- a:2|a:0 a/x:4*"})},
		{area, "pages of one", with(Step{versionsOf("", 1), "a:5*|a:3-|a:2|a:0|a/x:4*|b:1*"})},
		{area, "the newest of one key come in order in an answer", []Step{{put("k", "1"), "ok"}, {put("k", "2"), "ok"}, {put("k", "3"), "ok"}, {func(t *try) string {
			out, err := t.client.ListObjectVersions(t.ctx, &s3.ListObjectVersionsInput{Bucket: &t.bucket, Prefix: &t.prefix})
			if err != nil {
				return said("", err)
			}
			var order []string
			for _, v := range out.Versions {
				order = append(order, fmt.Sprint(slices.Index(t.ids, aws.ToString(v.VersionId))))
			}
			return strings.Join(order, " ")
		}, "2 1 0"}}},
		{area, "a deleted object has a marker, which is the current one", []Step{{put("k", "1"), "ok"}, {remove("k", nil), "marked"}, {versionsOf("k", 0), "k:1-* k:0"}}},
		{area, "a version marker without a key", []Step{{func(t *try) string {
			_, err := t.client.ListObjectVersions(t.ctx, &s3.ListObjectVersionsInput{Bucket: &t.bucket, VersionIdMarker: aws.String("x")})
			return said("", err)
		}, "!400 InvalidArgument"}}},
	}
}
