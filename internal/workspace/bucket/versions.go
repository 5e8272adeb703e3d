package bucket

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"piloto/internal/workspace"
)

// Versions returns the versions of a file that are kept.
func (b *Bucket) Versions(ctx context.Context, name string) ([]workspace.File, error) {
	ctx, cancel, err := b.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	defer cancel()
	kept, err := b.kept(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, notFound(name)
	}
	all := make([]workspace.File, len(kept))
	for i, k := range kept {
		all[i] = k.File
	}
	return all, nil
}

// stored is a version of a file, with the id that S3 gave it.
type stored struct {
	workspace.File
	id string
}

// kept returns the versions of a file that are kept, the newest first, and each once. S3 may have older ones: the rules
// of the bucket remove them in their own time.
func (b *Bucket) kept(ctx context.Context, name string) ([]stored, error) {
	versions, deleted, err := b.history(ctx, name)
	if err != nil {
		return nil, err
	}
	since := b.config.Now().Add(-workspace.KeepVersions)
	replaced := b.config.Now()
	var kept []stored
	known := map[string]bool{}
	for _, v := range versions {
		for _, at := range deleted {
			if !at.Before(v.At) && at.Before(replaced) {
				replaced = at
			}
		}
		if replaced.Before(since) || len(kept) == workspace.MaxVersions {
			break
		}
		if !known[v.Version] {
			known[v.Version] = true
			kept = append(kept, v)
		}
		replaced = v.At
	}
	return kept, nil
}

// history returns all versions of a file, the newest first, and when it was deleted.
func (b *Bucket) history(ctx context.Context, name string) (versions []stored, deleted []time.Time, err error) {
	const page = 100 // files whose names begin so are listed, too
	in := &s3.ListObjectVersionsInput{
		Bucket: &b.config.Name, Prefix: b.key(name), EncodingType: types.EncodingTypeUrl, MaxKeys: aws.Int32(page),
	}
	for {
		out, err := b.config.Client.ListObjectVersions(ctx, in)
		if err != nil {
			return nil, nil, failed(err)
		}
		others := false
		for _, v := range out.Versions {
			found, err := b.name(v.Key, out.EncodingType)
			if err != nil {
				return nil, nil, err
			}
			if others = others || found != name; found == name {
				f := workspace.File{Name: name, Size: aws.ToInt64(v.Size), Version: versionOf(v.ETag), At: aws.ToTime(v.LastModified).UTC()}
				versions = append(versions, stored{f, aws.ToString(v.VersionId)})
			}
		}
		for _, m := range out.DeleteMarkers {
			found, err := b.name(m.Key, out.EncodingType)
			if err != nil {
				return nil, nil, err
			}
			if others = others || found != name; found == name {
				deleted = append(deleted, aws.ToTime(m.LastModified).UTC())
			}
		}
		if others || !aws.ToBool(out.IsTruncated) { // the file's own versions come first
			return versions, deleted, nil
		}
		marker, err := decode(out.NextKeyMarker, out.EncodingType)
		if err != nil {
			return nil, nil, err
		}
		in.KeyMarker, in.VersionIdMarker = &marker, out.NextVersionIdMarker
	}
}
