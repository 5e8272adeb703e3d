package process

import "github.com/aws/smithy-go/middleware"

// networkLayers are the layers of the SDK's clients that only matter on a network: ids of requests, the
// description of the client, signatures, checksums, the discovery of endpoints, and logs of the wire.
var networkLayers = []string{
	"ClientRequestID", "UserAgent", "RecursionDetection",
	"DisableAcceptEncodingGzip", "DiscoverEndpoint", "disableHTTPS", "ComputePayloadHash", "setLegacyContextSigningOptions", "Signing",
	"RecordResponseTiming", "DynamoDB:ResponseChecksumValidation", "RequestResponseLogger",
}

// direct removes those layers from a client whose service is in this process. What a client does with requests, answers
// and errors stays: their encoding, retries, and the guard of a function's role. Not every client has each of these
// layers.
func direct(stack *middleware.Stack) error {
	for _, layer := range networkLayers {
		_, _ = stack.Build.Remove(layer)
		_, _ = stack.Finalize.Remove(layer)
		_, _ = stack.Deserialize.Remove(layer)
	}
	return nil
}
