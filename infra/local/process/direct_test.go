package process

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// layersOf returns the layers of a client that is configured with options.
func layersOf(t *testing.T, options ...func(*middleware.Stack) error) []string {
	t.Helper()
	var layers []string
	client := dynamodb.NewFromConfig(aws.Config{
		Region: awsRegion, Credentials: aws.AnonymousCredentials{}, BaseEndpoint: aws.String("http://engines.local"),
		APIOptions: append(options, func(s *middleware.Stack) error {
			layers = slices.Concat(s.Build.List(), s.Finalize.List(), s.Deserialize.List())
			return context.Canceled // no request is made
		}),
	})
	_, _ = client.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	return layers
}

// TestNetworkLayersAreLeftOut: each of them is a layer of the SDK's clients, and of no client of this process.
func TestNetworkLayersAreLeftOut(t *testing.T) {
	usual, here := layersOf(t), layersOf(t, direct)
	for _, layer := range networkLayers {
		if !slices.Contains(usual, layer) {
			t.Errorf("the SDK has no layer %s", layer)
		}
		if slices.Contains(here, layer) {
			t.Errorf("%s is not left out", layer)
		}
	}
	if len(here) != len(usual)-len(networkLayers) || !slices.Contains(here, "Retry") || !slices.Contains(here, "OperationDeserializer") {
		t.Errorf("left are %v", here)
	}
}
