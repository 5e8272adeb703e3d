package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"piloto/internal/workspace"
)

// Read returns a part of a file, or of an earlier version. It reads at most workspace.MaxFileBytes.
func (b *Bucket) Read(ctx context.Context, name, version string, from, n int64) ([]byte, workspace.File, error) {
	ctx, cancel, err := b.begin(ctx, name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	defer cancel()
	from, n = max(from, 0), min(n, workspace.MaxFileBytes)
	if version == "" {
		return b.part(ctx, name, which{}, from, n)
	}
	if !isVersion(version) {
		return nil, workspace.File{}, notFound(name)
	}
	if content, f, ok := b.config.Cache.get(*b.key(name), version); ok {
		return bytes.Clone(workspace.Part(content, from, n)), f, nil
	}
	content, f, err := b.part(ctx, name, which{etag: etagOf(version)}, from, n)
	if !errors.Is(err, workspace.ErrMoved) && !errors.Is(err, workspace.ErrNotFound) {
		return content, f, err
	}
	kept, err := b.kept(ctx, name)
	if err != nil {
		return nil, workspace.File{}, err
	}
	for _, k := range kept {
		if k.Version == version {
			return b.part(ctx, name, which{id: &k.id}, from, n)
		}
	}
	return nil, workspace.File{}, notFound(name)
}

// isVersion reports whether a text can be an ETag, and so a part of a header.
func isVersion(version string) bool {
	return len(version) <= 128 && strings.Trim(version, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// which says which version a read is of: the present one, if it has the ETag, or the one with the id.
type which struct{ etag, id *string }

// part reads at most n bytes of a version. The error is ErrMoved if the present version has another ETag.
func (b *Bucket) part(ctx context.Context, name string, w which, from, n int64) ([]byte, workspace.File, error) {
	if n <= 0 {
		return b.nothing(ctx, name, w)
	}
	in := &s3.GetObjectInput{Bucket: &b.config.Name, Key: b.key(name), VersionId: w.id, IfMatch: w.etag}
	if from > 0 || n < workspace.MaxFileBytes {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", from, from+n-1))
	}
	out, err := b.config.Client.GetObject(ctx, in)
	switch {
	case isCode(err, "InvalidRange"): // the file ends before
		return b.nothing(ctx, name, w)
	case isCode(err, "PreconditionFailed"):
		return nil, workspace.File{}, moved(name)
	case isMissing(err):
		return nil, workspace.File{}, notFound(name)
	case err != nil:
		return nil, workspace.File{}, failed(err)
	}
	defer func() { _ = out.Body.Close() }()
	f := workspace.File{Name: name, Size: aws.ToInt64(out.ContentLength), Version: versionOf(out.ETag), At: aws.ToTime(out.LastModified).UTC()}
	if out.ContentRange != nil {
		_, size, _ := strings.Cut(*out.ContentRange, "/")
		if f.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, workspace.File{}, fmt.Errorf("the range of %q is %q: %w", name, *out.ContentRange, err)
		}
	}
	var content bytes.Buffer
	content.Grow(int(min(n, max(f.Size-from, 0))))
	if _, err := content.ReadFrom(io.LimitReader(out.Body, n)); err != nil {
		return nil, workspace.File{}, failed(err)
	}
	b.config.Cache.put(*in.Key, f, content.Bytes())
	return content.Bytes(), f, nil
}

// nothing reads no byte.
func (b *Bucket) nothing(ctx context.Context, name string, w which) ([]byte, workspace.File, error) {
	f, _, err := b.head(ctx, name, w.id)
	if err == nil && w.etag != nil && versionOf(w.etag) != f.Version {
		err = moved(name)
	}
	return nil, f, err
}
