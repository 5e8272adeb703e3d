package dynamodb

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Client calls an engine of the same process with the types of the AWS SDK, without HTTP, JSON, signatures and
// retries. Its methods are those of the SDK's client that the stores call. They answer as the SDK's client does
// over the wire protocol, with these differences: options are ignored; an answer has no metadata; a write that the disk
// refuses is disk.ErrUnwritable or disk.ErrFailed.
//
// Members that only matter on a network or in old programs are refused: ClientRequestToken, ReturnConsumedCapacity,
// ReturnItemCollectionMetrics, and the members from before there were expressions.
type Client struct {
	engine *Engine
}

// NewClient returns a client of the engine.
func NewClient(e *Engine) *Client { return &Client{e} }

// Unwritable returns the reason why the disk takes no writes; nil when it takes them.
func (c *Client) Unwritable() error { return c.engine.store.Unwritable() }

// GetItem reads one item.
func (c *Client) GetItem(ctx context.Context, in *sdk.GetItemInput, _ ...func(*sdk.Options)) (*sdk.GetItemOutput, error) {
	f, err := call(ctx, c, "GetItem", getNode(in), (*Engine).getItem)
	if err != nil {
		return nil, err
	}
	out := &sdk.GetItemOutput{}
	if f.item != nil {
		out.Item = sdkItem(f.project(f.item))
	}
	return out, nil
}

// PutItem stores one item.
func (c *Client) PutItem(ctx context.Context, in *sdk.PutItemInput, _ ...func(*sdk.Options)) (*sdk.PutItemOutput, error) {
	w, err := call(ctx, c, "PutItem", putNode(in), (*Engine).putItem)
	if err != nil {
		return nil, err
	}
	return &sdk.PutItemOutput{Attributes: w.attributes()}, nil
}

// UpdateItem changes one item.
func (c *Client) UpdateItem(ctx context.Context, in *sdk.UpdateItemInput, _ ...func(*sdk.Options)) (*sdk.UpdateItemOutput, error) {
	w, err := call(ctx, c, "UpdateItem", updateNode(in), (*Engine).updateItem)
	if err != nil {
		return nil, err
	}
	return &sdk.UpdateItemOutput{Attributes: w.attributes()}, nil
}

// DeleteItem deletes one item.
func (c *Client) DeleteItem(ctx context.Context, in *sdk.DeleteItemInput, _ ...func(*sdk.Options)) (*sdk.DeleteItemOutput, error) {
	w, err := call(ctx, c, "DeleteItem", deleteNode(in), (*Engine).deleteItem)
	if err != nil {
		return nil, err
	}
	return &sdk.DeleteItemOutput{Attributes: w.attributes()}, nil
}

func (w written) attributes() map[string]types.AttributeValue {
	if len(w.shown) == 0 {
		return nil
	}
	return sdkItem(w.shown)
}

// Query reads one page of a partition.
func (c *Client) Query(ctx context.Context, in *sdk.QueryInput, _ ...func(*sdk.Options)) (*sdk.QueryOutput, error) {
	p, err := call(ctx, c, "Query", queryNode(in), (*Engine).query)
	if err != nil {
		return nil, err
	}
	out := &sdk.QueryOutput{Count: int32(p.matched), ScannedCount: int32(p.scanned)}
	if p.reading.selects != selectCount {
		out.Items = sdkItems(p.items)
	}
	if key := p.lastKey(); key != nil {
		out.LastEvaluatedKey = sdkItem(key)
	}
	return out, nil
}

// Scan reads one page of a table.
func (c *Client) Scan(ctx context.Context, in *sdk.ScanInput, _ ...func(*sdk.Options)) (*sdk.ScanOutput, error) {
	p, err := call(ctx, c, "Scan", scanNode(in), (*Engine).scan)
	if err != nil {
		return nil, err
	}
	out := &sdk.ScanOutput{Count: int32(p.matched), ScannedCount: int32(p.scanned)}
	if p.reading.selects != selectCount {
		out.Items = sdkItems(p.items)
	}
	if key := p.lastKey(); key != nil {
		out.LastEvaluatedKey = sdkItem(key)
	}
	return out, nil
}

// BatchWriteItem puts and deletes items, each by itself.
func (c *Client) BatchWriteItem(ctx context.Context, in *sdk.BatchWriteItemInput, _ ...func(*sdk.Options)) (*sdk.BatchWriteItemOutput, error) {
	if _, err := call(ctx, c, "BatchWriteItem", batchWriteNode(in), (*Engine).batchWriteItem); err != nil {
		return nil, err
	}
	return &sdk.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}, nil
}

// TransactWriteItems makes all writes or none.
func (c *Client) TransactWriteItems(ctx context.Context, in *sdk.TransactWriteItemsInput, _ ...func(*sdk.Options)) (*sdk.TransactWriteItemsOutput, error) {
	if _, err := call(ctx, c, "TransactWriteItems", transactNode(in), (*Engine).transactWriteItems); err != nil {
		return nil, err
	}
	return &sdk.TransactWriteItemsOutput{}, nil
}

// call makes one call. As over the wire, it fails when ctx has ended before or during the call, and a panic of the
// engine is an error.
func call[A any](ctx context.Context, c *Client, name string, m *members, operation func(*Engine, request) (A, error)) (a A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked: %v", p)
		}
		if err != nil {
			err = &smithy.OperationError{ServiceID: sdk.ServiceID, OperationName: name, Err: err}
		}
	}()
	if err := ctx.Err(); err != nil {
		return a, err
	}
	if m.refused != "" {
		return a, fmt.Errorf("a client of this process has no %s", m.refused)
	}
	if a, err = operation(c.engine, newRequest(&m.node)); err != nil {
		return a, sdkError(err)
	}
	return a, ctx.Err()
}

// sdkError returns a failure as the error type of the SDK.
func sdkError(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.code() {
	case "ConditionalCheckFailedException":
		failed := &types.ConditionalCheckFailedException{Message: &f.message}
		if f.item != nil {
			failed.Item = sdkItem(f.item)
		}
		return failed
	case "TransactionCanceledException":
		return &types.TransactionCanceledException{Message: &f.message, CancellationReasons: sdkReasons(f.reasons)}
	case "TransactionConflictException":
		return &types.TransactionConflictException{Message: &f.message}
	case "ResourceNotFoundException":
		return &types.ResourceNotFoundException{Message: &f.message}
	default:
		return &smithy.GenericAPIError{Code: f.code(), Message: f.message}
	}
}

func sdkReasons(reasons []reason) []types.CancellationReason {
	list := make([]types.CancellationReason, len(reasons))
	for i, r := range reasons {
		list[i].Code = &r.code
		if r.message != "" {
			list[i].Message = &r.message
		}
		if r.item != nil {
			list[i].Item = sdkItem(r.item)
		}
	}
	return list
}
