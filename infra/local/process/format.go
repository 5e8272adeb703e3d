package process

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// formatAdvice shows the commands for a data folder that cannot be read.
const formatAdvice = `; nothing was changed
  To keep it and begin with an empty one:  mv %[1]s %[1]s.old
  To go on with it: start the version of Piloto that wrote it`

// checkFormat refuses the data folder of a version whose rows this one cannot read. An empty table
// gets the format that this version writes.
func (p *Process) checkFormat(ctx context.Context, table string) error {
	err := p.Stores.CheckFormat(ctx)
	switch {
	case err == nil:
		return p.listEarlier(ctx)
	case errors.Is(err, kv.ErrFormat):
		return fmt.Errorf("%[2]s was written by a later version of Piloto"+formatAdvice, shellWord(p.Data), p.Data)
	case !errors.Is(err, store.ErrNoFormat):
		return err
	}
	out, err := dynamodb.NewFromConfig(p.clientConfig()).Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(1)})
	if err != nil {
		return err
	}
	if len(out.Items) > 0 {
		return fmt.Errorf("%[2]s was written by an earlier version of Piloto, before stored data had a format"+formatAdvice, shellWord(p.Data), p.Data)
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
