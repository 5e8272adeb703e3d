package process

import (
	"context"
	"errors"
	"localaws/disk"
	engine "localaws/dynamodb"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"piloto/internal/ground/fault"
	"piloto/internal/store"
	"piloto/internal/store/kv"
)

// tables is the client of the table for the functions of this process: it calls the engine without HTTP.
type tables struct {
	client *engine.Client
	guard  *guard // of the function's role; nil: the process itself calls
}

// tableClient returns the client of the table, limited by a guard. Options.Calls sees HTTP, so its calls go over HTTP.
func (p *Process) tableClient(g *guard) store.Client {
	if p.Calls == nil {
		return tables{engine.NewClient(p.engines.Tables), g}
	}
	config := p.clientConfig()
	if g != nil {
		config.APIOptions = append(slices.Clip(config.APIOptions), g.install)
	}
	return store.Dial(config)
}

// GetItem implements store.Client.
func (t tables) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := through(ctx, t, in, t.client.GetItem)
	if err == nil && t.client.Unwritable() != nil {
		kv.MarkUnwritable(&out.ResultMetadata)
	}
	return out, err
}

// PutItem implements store.Client.
func (t tables) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return through(ctx, t, in, t.client.PutItem)
}

// UpdateItem implements store.Client.
func (t tables) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return through(ctx, t, in, t.client.UpdateItem)
}

// DeleteItem implements store.Client.
func (t tables) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return through(ctx, t, in, t.client.DeleteItem)
}

// Query implements store.Client.
func (t tables) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return through(ctx, t, in, t.client.Query)
}

// BatchWriteItem implements store.Client.
func (t tables) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return through(ctx, t, in, t.client.BatchWriteItem)
}

// TransactWriteItems implements store.Client.
func (t tables) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return through(ctx, t, in, t.client.TransactWriteItems)
}

// through makes a call that the role allows. A write that the disk refuses is fault.ErrStorage.
func through[I, O any](ctx context.Context, t tables, in *I, call func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error)) (*O, error) {
	if t.guard != nil {
		if err := t.guard.check(ctx, in); err != nil {
			return nil, err
		}
	}
	out, err := call(ctx, in)
	if errors.Is(err, disk.ErrUnwritable) || errors.Is(err, disk.ErrFailed) {
		err = fault.ErrStorage.Because(err)
	}
	return out, err
}
