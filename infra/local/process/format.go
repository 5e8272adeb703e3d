package process

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// checkFormat refuses a data folder of another format, older or newer, before anything in it is changed.
func (p *Process) checkFormat(ctx context.Context) error {
	table := p.table()
	format, err := store.New(p.tableClient(nil), table).ReadFormat(ctx)
	if missing := (*types.ResourceNotFoundException)(nil); errors.As(err, &missing) {
		return nil // a new folder
	}
	switch {
	case errors.Is(err, store.ErrNoFormat):
		out, err := dynamodb.NewFromConfig(p.clientConfig()).Scan(ctx, &dynamodb.ScanInput{TableName: &table, Limit: aws.Int32(1)})
		if err != nil || len(out.Items) == 0 { // one that was being made
			return err
		}
	case err != nil:
		return err
	case format == kv.Format:
		return nil
	case format > kv.Format:
		return refusal("data.later", "folder", pathWord(p.Data))
	}
	return refusal("data.earlier", "folder", pathWord(p.Data))
}

// table returns the name of the table.
func (p *Process) table() string { return p.names[p.template.Tables[0].ID] }
