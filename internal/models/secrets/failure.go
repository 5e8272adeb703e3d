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

func missing(err error) bool {
	var e *types.ResourceNotFoundException
	return errors.As(err, &e)
}

func exists(err error) bool {
	var e *types.ResourceExistsException
	return errors.As(err, &e)
}

// beingDeleted reports whether the secret is scheduled for deletion, or on its
// way out. The service has one type for this and for other states, and tells
// them apart by words: "marked for deletion", "scheduled for deletion", "was
// deleted".
func beingDeleted(err error) bool {
	var e *types.InvalidRequestException
	if !errors.As(err, &e) {
		return false
	}
	words := e.ErrorMessage()
	return strings.Contains(words, "for deletion") || strings.Contains(words, "was deleted")
}

// told is an error of the service without what the service said: it may have
// repeated the request. What is left is its type, an error of the network, or
// that ctx ended.
func told(ctx context.Context, operation, id string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("secrets: %s of %s: %w", operation, id, ended)
	}
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return fmt.Errorf("secrets: %s of %s: %s", operation, id, kind(refused.ErrorCode()))
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return fmt.Errorf("secrets: %s of %s: %w", operation, id, network)
	}
	return fmt.Errorf("secrets: %s of %s: no usable answer", operation, id)
}

// kinds are the ways in which the service refuses, as it names them.
var kinds = []string{
	"AccessDenied", "AccessDeniedException", "DecryptionFailure", "EncryptionFailure", "ExpiredTokenException",
	"IncompleteSignature", "InternalFailure", "InternalServiceError", "InvalidClientTokenId", "InvalidParameterException",
	"InvalidRequestException", "InvalidSignatureException", "LimitExceededException", "OptInRequired",
	"PreconditionNotMetException", "RequestExpired", "ResourceExistsException", "ResourceNotFoundException",
	"ServiceUnavailable", "Throttling", "ThrottlingException", "UnknownOperationException",
	"UnrecognizedClientException", "ValidationException",
}

// kind is the name of a refusal, if it is one that the service has.
func kind(code string) string {
	for _, k := range kinds {
		if k == code {
			return k
		}
	}
	return "refused for a reason it has no known name for"
}
