package process

import (
	"context"
	"errors"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// checkFormat refuses the data folder of a version whose rows this one cannot read. An empty table
// gets the format that this version writes.
func (p *Process) checkFormat(ctx context.Context, table string) error {
	err := p.Stores.CheckFormat(ctx)
	switch {
	case err == nil:
		return p.listEarlier(ctx)
	case errors.Is(err, kv.ErrFormat):
		return refusal("data.later", "folder", pathWord(p.Data))
	case !errors.Is(err, store.ErrNoFormat):
		return err
	}
	out, err := dynamodb.NewFromConfig(p.clientConfig()).Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(1)})
	if err != nil {
		return err
	}
	if len(out.Items) > 0 {
		return refusal("data.earlier", "folder", pathWord(p.Data))
	}
	if err := p.Stores.WriteFormat(ctx); err != nil {
		return err
	}
	return p.listEarlier(ctx)
}

// listEarlier has the lists of runs show those that an earlier version wrote, before anybody reads them. Nothing else
// writes the folder yet.
func (p *Process) listEarlier(ctx context.Context) error {
	_, err := p.Stores.Runs.ListEarlier(ctx, p.Clock(), 0, math.MaxInt)
	return err
}
