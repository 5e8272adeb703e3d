package secrets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/smithy-go"
)

func isMissing(err error) bool {
	var e *types.ResourceNotFoundException
	return errors.As(err, &e)
}

func isDuplicate(err error) bool {
	var e *types.ResourceExistsException
	return errors.As(err, &e)
}

// isBeingDeleted reports whether the secret is scheduled for deletion, or is being deleted. The service has one
// error type for this and for other states, and only its message distinguishes them: "marked for deletion",
// "scheduled for deletion", "was deleted".
func isBeingDeleted(err error) bool {
	var e *types.InvalidRequestException
	if !errors.As(err, &e) {
		return false
	}
	words := e.ErrorMessage()
	return strings.Contains(words, "for deletion") || strings.Contains(words, "was deleted")
}

// scrub returns an error of the service without the service's message, which may repeat the request. It keeps the
// error code, a network error, or the end of ctx.
func scrub(ctx context.Context, operation, id string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("secrets: %s of %s: %w", operation, id, ended)
	}
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return fmt.Errorf("secrets: %s of %s: %s", operation, id, knownCode(refused.ErrorCode()))
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return fmt.Errorf("secrets: %s of %s: %w", operation, id, network)
	}
	return fmt.Errorf("secrets: %s of %s: no usable answer", operation, id)
}

// knownCodes are the error codes of the service.
var knownCodes = []string{
	"AccessDenied", "AccessDeniedException", "DecryptionFailure", "EncryptionFailure", "ExpiredTokenException",
	"IncompleteSignature", "InternalFailure", "InternalServiceError", "InvalidClientTokenId", "InvalidParameterException",
	"InvalidRequestException", "InvalidSignatureException", "LimitExceededException", "OptInRequired",
	"PreconditionNotMetException", "RequestExpired", "ResourceExistsException", "ResourceNotFoundException",
	"ServiceUnavailable", "Throttling", "ThrottlingException", "UnknownOperationException",
	"UnrecognizedClientException", "ValidationException",
}

// knownCode returns the code if it is in the list, else a fixed text.
func knownCode(code string) string {
	for _, k := range knownCodes {
		if k == code {
			return k
		}
	}
	return "refused for a reason it has no known name for"
}
