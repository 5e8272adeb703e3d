package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/meaning"
	"piloto/internal/workspace"
)

// conflicts are the codes of a write that met another one.
var conflicts = []string{"ConditionalRequestConflict", "OperationAborted"}

func notFound(name string) error {
	return workspace.ErrNotFound.With("name", workspace.Printable(name))
}

func moved(name string) error { return workspace.ErrMoved.With("name", workspace.Printable(name)) }

func isCode(err error, codes ...string) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && slices.Contains(codes, answer.ErrorCode())
}

// isMissing reports that there is no such file. NotFound is the answer to HeadObject, which has no body.
func isMissing(err error) bool { return isCode(err, "NoSuchKey", "NoSuchVersion", "NotFound") }

// isRefused reports that a condition did not hold, or that another writer was there each time.
func isRefused(err error) bool { return isCode(err, append(conflicts, "PreconditionFailed")...) }

// failed returns the fault of a request that nothing else explains.
func failed(err error) error {
	var answer *awshttp.ResponseError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &answer) && !isPassing(answer.HTTPStatusCode(), err):
		return fmt.Errorf("bucket: %w", err) // the deployment is wrong: no such bucket, or no right to it
	}
	return workspace.ErrUnreachable.Because(err)
}

// unwritten is failed for a write.
func unwritten(err error) error {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusInsufficientStorage {
		return fault.ErrStorage.Because(err)
	}
	return failed(err)
}

// isPassing reports whether S3 may answer otherwise in a while.
func isPassing(status int, err error) bool {
	if meaning.Passes(status, false) {
		return true
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		return false
	}
	_, slow := retry.DefaultThrottleErrorCodes[answer.ErrorCode()]
	_, late := retry.DefaultRetryableErrorCodes[answer.ErrorCode()]
	return slow || late
}
