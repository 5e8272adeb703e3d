package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"piloto/internal/workspace"
)

// fresh is how old an object may be that Put leaves as it is. The rules of the bucket count the days of an object
// from its last write.
const fresh = 24 * time.Hour

// Objects keeps contents of up to workspace.MaxFileBytes in a bucket, under keys that always have the same content.
type Objects struct {
	Client *s3.Client
	Name   string // of the bucket
	Now    func() time.Time
}

// Put keeps an object. One with that key stays as it is; if it is older than a day, it is written again, so that the
// rules of the bucket do not delete it too early.
func (o Objects) Put(ctx context.Context, key string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	in := &s3.PutObjectInput{
		Bucket: &o.Name, Key: &key, Body: bytes.NewReader(content), ContentType: aws.String("application/octet-stream"), IfNoneMatch: aws.String("*"),
	}
	_, err := o.Client.PutObject(ctx, in, again(&tries{}))
	if !isRefused(err) {
		return unwritten(err)
	}
	there, err := o.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.Name, Key: &key})
	if err == nil && o.Now().Sub(aws.ToTime(there.LastModified)) < fresh {
		return nil
	}
	if err != nil && !isMissing(err) {
		return failed(err)
	}
	in.IfNoneMatch, in.Body = nil, bytes.NewReader(content)
	_, err = o.Client.PutObject(ctx, in)
	return unwritten(err)
}

// Get returns an object, or workspace.ErrNotFound.
func (o Objects) Get(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := o.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.Name, Key: &key})
	if isMissing(err) {
		return nil, notFound(key)
	}
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(out.Body, workspace.MaxFileBytes+1))
	if err != nil {
		return nil, failed(err)
	}
	if len(content) > workspace.MaxFileBytes {
		return nil, fmt.Errorf("bucket: the object %s is larger than any that is written", key)
	}
	return content, nil
}

// List returns the keys that begin with a prefix, in the order of bytes.
func (o Objects) List(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var keys []string
	pages := s3.NewListObjectsV2Paginator(o.Client, &s3.ListObjectsV2Input{Bucket: &o.Name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed(err)
		}
		for _, found := range page.Contents {
			key, err := decode(found.Key, page.EncodingType)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// Delete removes an object, if it is there.
func (o Objects) Delete(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &o.Name, Key: &key})
	return unwritten(err)
}
