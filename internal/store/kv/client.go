package kv

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"piloto/internal/ground/fault"
)

// Client is the calls of DynamoDB that a table makes: those of the SDK's client. Where the store is on one machine, a
// call that finds no room on the disk ends with fault.ErrStorage, and the answers to reads are marked (MarkUnwritable)
// while the disk takes no writes.
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Dial returns the client that calls DynamoDB, or a server of its protocol, over HTTP.
func Dial(config aws.Config) Client { return dynamodb.NewFromConfig(config, detectUnwritable) }

// unwritableHeader is in the answers of a store of one machine while its disk takes
// no writes. DynamoDB itself has no such state.
const unwritableHeader = "X-Localaws-Unwritable"

// detectUnwritable has every call end with fault.ErrStorage when the store answers that it has no room for the write (507),
// which the SDK does not retry.
func detectUnwritable(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Unwritable",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				var answer *smithyhttp.ResponseError
				if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusInsufficientStorage {
					err = fault.ErrStorage.Because(err)
				}
				if raw, ok := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response); ok && raw.Header.Get(unwritableHeader) != "" {
					MarkUnwritable(&metadata)
				}
				return out, metadata, err
			}), middleware.Before)
	})
}

type unwritableKey struct{}

// MarkUnwritable records in the metadata of an answer that the disk takes no writes.
func MarkUnwritable(answer *middleware.Metadata) { answer.Set(unwritableKey{}, true) }

func unwritable(answer middleware.Metadata) bool { return answer.Has(unwritableKey{}) }
