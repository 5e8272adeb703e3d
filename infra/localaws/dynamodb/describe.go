package dynamodb

import (
	"encoding/json"
	"fmt"
	"localaws/disk"
	"slices"
)

// The response of DescribeTable, with the member names of the service.
type (
	tableDescription struct {
		TableName                 string
		TableArn                  string
		TableId                   string //nolint:revive // the service's name
		TableStatus               string
		CreationDateTime          float64
		AttributeDefinitions      []attributeDefinition
		KeySchema                 []keySchemaElement
		ItemCount                 int
		TableSizeBytes            int
		ProvisionedThroughput     provisionedThroughput
		BillingModeSummary        *billingSummary    `json:",omitempty"`
		SSEDescription            *sealDescription   `json:",omitempty"`
		TableClassSummary         *classSummary      `json:",omitempty"`
		GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
		DeletionProtectionEnabled bool
	}
	attributeDefinition   struct{ AttributeName, AttributeType string }
	keySchemaElement      struct{ AttributeName, KeyType string }
	provisionedThroughput struct {
		NumberOfDecreasesToday, ReadCapacityUnits, WriteCapacityUnits int64
	}
	billingSummary struct {
		BillingMode                       string
		LastUpdateToPayPerRequestDateTime float64
	}
	sealDescription  struct{ Status, SSEType, KMSMasterKeyArn string }
	classSummary     struct{ TableClass string }
	indexDescription struct {
		IndexName             string
		IndexArn              string
		IndexStatus           string
		KeySchema             []keySchemaElement
		Projection            projectionDescription
		ProvisionedThroughput provisionedThroughput
		ItemCount             int
		IndexSizeBytes        int
	}
	projectionDescription struct {
		ProjectionType   string
		NonKeyAttributes []string `json:",omitempty"`
	}
)

// The statuses of a table. A change is done when its response is sent. The response reports it as
// under way, like the service's, and the next description reports the table as active.
const (
	statusActive   = "ACTIVE"
	statusCreating = "CREATING"
	statusUpdating = "UPDATING"
	statusDeleting = "DELETING"
)

// describe returns a table's description as one member. For a table that is being updated, creating
// names the new indexes.
func (e *Engine) describe(member string, t *table, status string, creating ...string) ([]byte, error) {
	d := tableDescription{
		TableName: t.Name, TableArn: t.arn(), TableId: fmt.Sprintf("00000000-0000-4000-8000-%012s", t.ID), TableStatus: status,
		CreationDateTime:      float64(t.Created.UnixMilli()) / 1000,
		KeySchema:             describeKey(t.Key),
		ProvisionedThroughput: describeThroughput(t.Throughput), DeletionProtectionEnabled: t.Protected,
	}
	for _, a := range t.Attributes {
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{a.Name, a.Kind.String()})
	}
	if since := t.OnDemand; !since.IsZero() {
		d.BillingModeSummary = &billingSummary{t.Billing, float64(since.UnixMilli()) / 1000}
	}
	if t.Class != "" {
		d.TableClassSummary = &classSummary{t.Class}
	}
	if t.Sealed {
		d.SSEDescription = &sealDescription{"ENABLED", "KMS", arnOf("kms", "alias/aws/dynamodb")}
	}
	err := e.store.View(func(tx *disk.Tx) error {
		d.ItemCount, d.TableSizeBytes = measure(tx.Bucket(t.bucket()))
		for _, x := range t.Indexes {
			count, size := measure(tx.Bucket(t.indexBucket(x)))
			state := status
			if status == statusUpdating {
				state = statusActive
			}
			if slices.Contains(creating, x.Name) {
				state = statusCreating
			}
			d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
				IndexName: x.Name, IndexArn: t.arn() + "/index/" + x.Name, IndexStatus: state, KeySchema: describeKey(x.Key),
				Projection:            projectionDescription{x.Projection, x.Include},
				ProvisionedThroughput: describeThroughput(x.Throughput), ItemCount: count, IndexSizeBytes: size,
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{member: d})
}

// measure counts a bucket's items and their bytes on disk.
func measure(b *disk.Bucket) (items, bytes int) {
	if b == nil {
		return 0, 0
	}
	return b.Size()
}

func describeKey(s schema) []keySchemaElement {
	out := []keySchemaElement{{s.Hash, "HASH"}}
	if s.Sort != "" {
		out = append(out, keySchemaElement{s.Sort, "RANGE"})
	}
	return out
}

func describeThroughput(t throughput) provisionedThroughput {
	return provisionedThroughput{ReadCapacityUnits: t.Read, WriteCapacityUnits: t.Write}
}
