package bucket

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"piloto/internal/workspace/files"
)

// removeAtOnce is how many versions are removed at the same time.
const removeAtOnce = 16

// Kept returns every version of the objects whose keys begin with a prefix. A mark that an object is deleted is none.
func (o Objects) Kept(ctx context.Context, prefix string) ([]files.Kept, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all []files.Kept
	pages := s3.NewListObjectVersionsPaginator(o.Client, &s3.ListObjectVersionsInput{Bucket: &o.Name, Prefix: &prefix, EncodingType: types.EncodingTypeUrl})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, failed(err)
		}
		for _, v := range page.Versions {
			key, err := decode(v.Key, page.EncodingType)
			if err != nil {
				return nil, err
			}
			all = append(all, files.Kept{
				Key: key, ID: aws.ToString(v.VersionId), Version: versionOf(v.ETag), Size: aws.ToInt64(v.Size),
				At: aws.ToTime(v.LastModified).UTC(), Present: aws.ToBool(v.IsLatest),
			})
		}
	}
	return all, nil
}

// Remove removes versions for good. One that is gone already is no error.
func (o Objects) Remove(ctx context.Context, list []files.Kept) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(removeAtOnce)
	for _, k := range list {
		g.Go(func() error {
			_, err := o.Client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &o.Name, Key: &k.Key, VersionId: &k.ID})
			if isMissing(err) {
				return nil
			}
			return unwritten(err)
		})
	}
	return g.Wait()
}
