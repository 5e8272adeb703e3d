package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"piloto/internal/workspace"
)

// writeMark names the metadata with the mark of a write. The mark distinguishes a write that was sent again, because its
// answer was lost, from the write of somebody else.
const writeMark = "write"

// Write makes a file or replaces its content.
//
// When no answer comes in time, the file may have been written, and the error says nothing of that. When the answer of
// a write is lost, it is repeated, and another writer replaces the content between the two, the error is ErrMoved,
// although the content was written. It is then an earlier version.
func (b *Bucket) Write(ctx context.Context, name string, content []byte, version string) (workspace.File, error) {
	ctx, cancel, err := b.begin(ctx, name)
	if err != nil {
		return workspace.File{}, err
	}
	defer cancel()
	if err := b.mayWrite(ctx, name, int64(len(content)), version); err != nil {
		return workspace.File{}, err
	}
	hash, mark := sha256.Sum256(content), rand.Text()
	in := &s3.PutObjectInput{
		Bucket: &b.config.Name, Key: b.key(name), Body: bytes.NewReader(content), ContentType: aws.String("application/octet-stream"),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(hash[:])), Metadata: map[string]string{writeMark: mark},
	}
	if version == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = etagOf(version)
	}
	out, err := b.config.Client.PutObject(ctx, in, again(&tries{}))
	switch {
	case isRefused(err) || isMissing(err):
		return b.ifMine(ctx, name, mark)
	case err != nil:
		return workspace.File{}, unwritten(err)
	}
	f := workspace.File{Name: name, Size: int64(len(content)), Version: versionOf(out.ETag), At: b.config.Now().UTC()}
	if at, ok := middleware.GetServerTime(out.ResultMetadata); ok {
		f.At = at.UTC()
	}
	b.config.Cache.put(*in.Key, f, content)
	return f, nil
}

// ifMine returns the present version if a write with this mark made it, and otherwise ErrMoved.
func (b *Bucket) ifMine(ctx context.Context, name, mark string) (workspace.File, error) {
	f, made, err := b.head(ctx, name, nil)
	switch {
	case err == nil && made == mark:
		return f, nil
	case err == nil || errors.Is(err, workspace.ErrNotFound):
		return workspace.File{}, moved(name)
	}
	return workspace.File{}, err
}

// mayWrite returns an error if a file does not have a version, or if its name or its size does not fit beside the others.
func (b *Bucket) mayWrite(ctx context.Context, name string, size int64, version string) error {
	all, err := b.files(ctx)
	if err != nil {
		return err
	}
	files, bytes, now, clash := 1, size, "", error(nil)
	for _, f := range all {
		if f.Name == name {
			now = f.Version
			continue
		}
		files, bytes = files+1, bytes+f.Size
		if version == "" && clash == nil {
			clash = workspace.CheckNew(name, f.Name)
		}
	}
	if now != version {
		return moved(name)
	}
	if err := workspace.CheckSize(name, size); err != nil {
		return err
	}
	if clash != nil {
		return clash
	}
	return b.config.Limits.Check(files, bytes)
}

// Delete removes a file. S3 keeps its versions below a delete marker.
func (b *Bucket) Delete(ctx context.Context, name, version string) error {
	ctx, cancel, err := b.begin(ctx, name)
	if err != nil {
		return err
	}
	defer cancel()
	if version == "" || !isVersion(version) {
		return b.movedOrGone(ctx, name)
	}
	var sent tries
	_, err = b.config.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.config.Name, Key: b.key(name), IfMatch: etagOf(version)}, again(&sent))
	if !isRefused(err) && !isMissing(err) {
		return unwritten(err)
	}
	err = b.movedOrGone(ctx, name)
	if sent.n > 1 && errors.Is(err, workspace.ErrNotFound) {
		return nil // the answer of the first one was lost
	}
	return err
}

// movedOrGone returns the error of a delete that did not find its version.
func (b *Bucket) movedOrGone(ctx context.Context, name string) error {
	if _, _, err := b.head(ctx, name, nil); err != nil {
		return err
	}
	return moved(name)
}

// tries counts how often a request was sent.
type tries struct {
	aws.RetryerV2
	n int
}

// GetAttemptToken is called once for each time.
func (t *tries) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	t.n++
	return t.RetryerV2.GetAttemptToken(ctx)
}

// again has a conditional request repeated after a conflict, and counts it.
func again(t *tries) func(*s3.Options) {
	return func(o *s3.Options) {
		t.RetryerV2 = retry.AddWithErrorCodes(o.Retryer, conflicts...).(aws.RetryerV2) //nolint:forcetypeassert // it says so
		o.Retryer = t
	}
}
