// Command hello is the floor of a cold start: a function that only reads one item, with the SDK clients of Piloto's
// functions. `go run ./infra/bench -cold` builds it beside them.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// clients holds the SDK clients; every function of Piloto has some of them.
type clients struct {
	table    *dynamodb.Client
	machines *sfn.Client
	secrets  *secretsmanager.Client
}

func main() {
	c := aws.Config{
		Region:       os.Getenv("AWS_REGION"),
		Credentials:  credentials.NewStaticCredentialsProvider(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL")),
	}
	all := clients{dynamodb.NewFromConfig(c), sfn.NewFromConfig(c), secretsmanager.NewFromConfig(c)}
	lambda.Start(all.hello)
}

// hello reads an item that does not exist, and answers {"message": "hello"}.
func (c clients) hello(ctx context.Context) (map[string]string, error) {
	_, err := c.table.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(os.Getenv("TABLE_NAME")),
		Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "hello"}, "SK": &types.AttributeValueMemberS{Value: "hello"},
		},
	})
	return map[string]string{"message": "hello"}, err
}
