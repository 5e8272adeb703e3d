package template

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable returns the request that creates the table under a name. The time to live needs a
// request of its own, after the table exists.
func (t Table) CreateTable(name string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   t.Key.schema(),
	}
	for _, a := range t.Attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.Name), AttributeType: types.ScalarAttributeType(a.Type),
		})
	}
	for _, x := range t.Indexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.Name), KeySchema: x.Key.schema(),
			Projection: &types.Projection{ProjectionType: types.ProjectionType(x.Projection), NonKeyAttributes: x.NonKey},
		})
	}
	return in
}

func (k Key) schema() []types.KeySchemaElement {
	schema := []types.KeySchemaElement{{AttributeName: aws.String(k.Hash), KeyType: types.KeyTypeHash}}
	if k.Range != "" {
		schema = append(schema, types.KeySchemaElement{AttributeName: aws.String(k.Range), KeyType: types.KeyTypeRange})
	}
	return schema
}
