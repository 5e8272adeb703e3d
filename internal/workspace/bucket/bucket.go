// Package bucket keeps the files of a workspace in an S3 bucket with versioning. It owns that a write or a delete
// changes a file only if it still has the version that the caller read, also when many write at once.
//
// The key of a file is the prefix of its workspace and its name. Its version is its ETag: S3 compares it in one step
// with a write (If-Match), and it is the only mark of a version in ListObjectsV2. A content that comes back may
// bring its version back. An ETag is the MD5 of the content, and somebody can make two contents with one MD5. So the
// bucket should be encrypted with SSE-KMS, where an ETag is no MD5. (API reference, Object)
//
// Facts of S3 that this package needs:
//
//   - PutObject with If-Match fails with 412 for another ETag, and with 404 if there is no object. With
//     If-None-Match: * it fails with 412 if there is an object. A delete marker is no object.
//     (User guide, "How to prevent object overwrites with conditional writes")
//   - Of concurrent writes one may fail with 409 ConditionalRequestConflict, although its condition held. It has to be
//     repeated. (API reference, PutObject)
//   - DeleteObject has If-Match since September 2025, in all buckets, and compares the current version. It needs
//     s3:GetObject, too. (User guide, "How to perform conditional deletes")
//   - A read or a list after a write has its result. (User guide, "Amazon S3 data consistency model")
//
// The limits of a workspace are checked by a list before each write. Writers at the same moment do not see each
// other's files: each of them can bring the workspace over a limit once, by one file, and can make a name that another
// one clashes with. The next write finds both.
package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// patience limits an operation, with its retries.
const patience = 30 * time.Second

// maxKey is the length of the longest key, in bytes.
const maxKey = 1024

// Config describes a workspace in a bucket.
type Config struct {
	Client *s3.Client
	Name   string           // of the bucket
	Prefix string           // Prefix
	Shown  workspace.Shown  // which files are not hidden
	Limits workspace.Limits // of all files
	Cache  *Cache           // nil: every read is a request
	Now    func() time.Time
}

// Bucket is a workspace.Store. Any number of them may have the same workspace at the same time.
type Bucket struct{ config Config }

var _ workspace.Store = (*Bucket)(nil)

// New returns the workspace of a configuration. It makes no request.
func New(c Config) *Bucket { return &Bucket{c} }

// Prefix returns the prefix of the keys of a workspace's files. No other workspace has it.
func Prefix(p files.Place) string { return "files/" + p.Prefix() }

// begin returns an error for a name that no operation uses, and the context of an operation.
func (b *Bucket) begin(ctx context.Context, name string) (context.Context, context.CancelFunc, error) {
	if err := b.config.Shown.Check(name); err != nil {
		return nil, nil, err
	}
	if err := workspace.CheckLength(name, maxKey-len(b.config.Prefix)); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	return ctx, cancel, nil
}

func (b *Bucket) key(name string) *string { return aws.String(b.config.Prefix + name) }

// List returns all files that are not hidden: a request for each 1,000 files.
func (b *Bucket) List(ctx context.Context) (workspace.Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := b.files(ctx)
	if err != nil {
		return workspace.Listing{}, err
	}
	var l workspace.Listing
	hash := sha256.New()
	for _, f := range all {
		if b.config.Shown.Check(f.Name) == nil {
			l.Files = append(l.Files, f)
			fmt.Fprintf(hash, "%q %q\n", f.Name, f.Version)
		}
	}
	l.Version = hex.EncodeToString(hash.Sum(nil))
	return l, nil
}

// files returns everything below the prefix, in the order of bytes.
func (b *Bucket) files(ctx context.Context) ([]workspace.File, error) {
	var all []workspace.File
	pages := s3.NewListObjectsV2Paginator(b.config.Client, &s3.ListObjectsV2Input{
		Bucket: &b.config.Name, Prefix: &b.config.Prefix, EncodingType: types.EncodingTypeUrl,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed(err)
		}
		for _, o := range page.Contents {
			name, err := b.name(o.Key, page.EncodingType)
			if err != nil {
				return nil, err
			}
			all = append(all, workspace.File{Name: name, Size: aws.ToInt64(o.Size), Version: versionOf(o.ETag), At: aws.ToTime(o.LastModified).UTC()})
		}
	}
	return all, nil
}

// name returns the name of a file from its key in a listing.
func (b *Bucket) name(key *string, e types.EncodingType) (string, error) {
	decoded, err := decode(key, e)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(decoded, b.config.Prefix)
	if !ok {
		return "", fmt.Errorf("bucket: the listing of %s has the key %q", b.config.Prefix, decoded)
	}
	return name, nil
}

// decode returns a key of a listing. The answer says whether its keys are encoded.
func decode(key *string, e types.EncodingType) (string, error) {
	if e != types.EncodingTypeUrl {
		return aws.ToString(key), nil
	}
	return url.QueryUnescape(aws.ToString(key))
}

// versionOf returns the version of an ETag, which has quotes.
func versionOf(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

func etagOf(version string) *string { return aws.String(`"` + version + `"`) }

// Stat returns the present version of a file.
func (b *Bucket) Stat(ctx context.Context, name string) (workspace.File, error) {
	ctx, cancel, err := b.begin(ctx, name)
	if err != nil {
		return workspace.File{}, err
	}
	defer cancel()
	f, _, err := b.head(ctx, name, nil)
	return f, err
}

// head returns a version of a file and the mark of the write that made it.
func (b *Bucket) head(ctx context.Context, name string, id *string) (workspace.File, string, error) {
	out, err := b.config.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.config.Name, Key: b.key(name), VersionId: id})
	if isMissing(err) {
		return workspace.File{}, "", notFound(name)
	}
	if err != nil {
		return workspace.File{}, "", failed(err)
	}
	return workspace.File{
		Name: name, Size: aws.ToInt64(out.ContentLength), Version: versionOf(out.ETag), At: aws.ToTime(out.LastModified).UTC(),
	}, out.Metadata[writeMark], nil
}
