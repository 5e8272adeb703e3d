package kv

import (
	"context"
	"errors"
	"net/http"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"piloto/internal/ground/fault"
)

// unwritableHeader is in the answers of a store of one machine while its disk takes
// no writes. DynamoDB itself has no such state.
const unwritableHeader = "X-Localaws-Unwritable"

// detectUnwritable has every call end with fault.ErrStorage where the store answers
// that it has no room for what was to be written (507), which the SDK does not try
// again.
func detectUnwritable(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Unwritable",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				var answer *smithyhttp.ResponseError
				if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusInsufficientStorage {
					err = fault.ErrStorage.Because(err)
				}
				return out, metadata, err
			}), middleware.Before)
	})
}

// unwritable returns fault.ErrStorage when an answer says that the disk takes no writes.
func unwritable(metadata middleware.Metadata) error {
	raw, ok := awsmiddleware.GetRawResponse(metadata).(*smithyhttp.Response)
	if ok && raw.Header.Get(unwritableHeader) != "" {
		return fault.ErrStorage
	}
	return nil
}
