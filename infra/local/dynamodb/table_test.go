package dynamodb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestSuiteCreateTableRefusals(t *testing.T) {
	e := shared()
	valid := func() *sdk.CreateTableInput { return indexedTable(e.table("refused")) }
	with := func(change func(in *sdk.CreateTableInput)) *sdk.CreateTableInput {
		in := valid()
		change(in)
		return in
	}
	simple := func(change func(in *sdk.CreateTableInput)) *sdk.CreateTableInput {
		in := valid()
		in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:2]
		change(in)
		return in
	}
	for name, c := range map[string]struct {
		in   *sdk.CreateTableInput
		want string
	}{
		"exists":              {indexedTable(e.table("indexed")), "!ResourceInUseException: "},
		"short name":          {simple(func(in *sdk.CreateTableInput) { in.TableName = aws.String("ab") }), "!ValidationException: TableName must be at least 3 characters long and at most 255 characters long"},
		"bad name":            {simple(func(in *sdk.CreateTableInput) { in.TableName = aws.String("bad name") }), "!ValidationException: 1 validation error detected: Value 'bad name' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"},
		"undefined key":       {simple(func(in *sdk.CreateTableInput) { in.AttributeDefinitions[1].AttributeName = text("x") }), "!ValidationException: One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [pk, sk], AttributeDefinitions: [pk, x]"},
		"too few definitions": {simple(func(in *sdk.CreateTableInput) { in.AttributeDefinitions = in.AttributeDefinitions[:1] }), "!ValidationException: Invalid KeySchema: Some index key attribute have no definition"},
		"unused definition":   {simple(func(in *sdk.CreateTableInput) { in.KeySchema = in.KeySchema[:1] }), "!ValidationException: One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"},
		"same key twice":      {simple(func(in *sdk.CreateTableInput) { in.KeySchema[1].AttributeName = text("pk") }), "!ValidationException: Both the Hash Key and the Range Key element in the KeySchema have the same name"},
		"range first":         {simple(func(in *sdk.CreateTableInput) { slices.Reverse(in.KeySchema) }), "!ValidationException: Invalid KeySchema: The first KeySchemaElement is not a HASH key type"},
		"two hashes":          {simple(func(in *sdk.CreateTableInput) { in.KeySchema[1].KeyType = "HASH" }), "!ValidationException: Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"},
		"bad type":            {simple(func(in *sdk.CreateTableInput) { in.AttributeDefinitions[1].AttributeType = "BOOL" }), "!ValidationException: 1 validation error detected: Value 'BOOL' at 'attributeDefinitions.2.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]"},
		"no throughput":       {simple(func(in *sdk.CreateTableInput) { in.BillingMode = types.BillingModeProvisioned }), "!ValidationException: One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"},
		"throughput on demand": {simple(func(in *sdk.CreateTableInput) {
			in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
		}), "!ValidationException: One or more parameter values were invalid: Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"},
		"no indexes":         {with(func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{} }), "!ValidationException: One or more parameter values were invalid: List of GlobalSecondaryIndexes is empty"},
		"same index twice":   {with(func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes[1].IndexName = text("all") }), "!ValidationException: One or more parameter values were invalid: Duplicate index name: all"},
		"no projection type": {with(func(in *sdk.CreateTableInput) { in.GlobalSecondaryIndexes[0].Projection = &types.Projection{} }), "!ValidationException: One or more parameter values were invalid: Unknown ProjectionType: null"},
		"include of all": {with(func(in *sdk.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes = []string{"a"}
		}), "!ValidationException: One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified"},
		"undefined index key": {
			with(func(in *sdk.CreateTableInput) { in.AttributeDefinitions = in.AttributeDefinitions[:3] }),
			"!ValidationException: One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [g, h], AttributeDefinitions: [pk, sk, g]",
		},
		"local indexes": {with(func(in *sdk.CreateTableInput) {
			in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{{IndexName: text("local"), KeySchema: in.KeySchema, Projection: &types.Projection{ProjectionType: "ALL"}}}
		}), "!ValidationException: This engine does not support LocalSecondaryIndexes"},
		"streams": {simple(func(in *sdk.CreateTableInput) {
			in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		}), "!ValidationException: This engine does not support streams"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.client.CreateTable(e.ctx, c.in)
			expect(t, outcome("", err), c.want)
		})
	}
}

func TestSuiteTableLifecycle(t *testing.T) {
	e := shared()
	name := e.table("life")
	e.create(indexedTable(name))
	pk := id()
	e.put(t, "life", pk, `{"sk":"1","g":"x"}`)
	d, err := e.client.DescribeTable(e.ctx, &sdk.DescribeTableInput{TableName: name})
	if err != nil {
		t.Fatal(err)
	}
	if d.Table.TableStatus != types.TableStatusActive || len(d.Table.GlobalSecondaryIndexes) != 3 || len(d.Table.KeySchema) != 2 ||
		len(d.Table.AttributeDefinitions) != 4 || d.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || d.Table.CreationDateTime == nil {
		t.Errorf("described as %+v", d.Table)
	}
	if _, err := e.client.DeleteTable(e.ctx, &sdk.DeleteTableInput{TableName: name}); err != nil {
		t.Fatal(err)
	}
	if err := sdk.NewTableNotExistsWaiter(e.client).Wait(e.ctx, &sdk.DescribeTableInput{TableName: name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	gone := "!ResourceNotFoundException: Requested resource not found: Table: " + *name + " not found"
	_, err = e.client.DescribeTable(e.ctx, &sdk.DescribeTableInput{TableName: name})
	expect(t, outcome("", err), gone)
	_, err = e.client.DeleteTable(e.ctx, &sdk.DeleteTableInput{TableName: name})
	expect(t, outcome("", err), gone)
	_, err = e.client.GetItem(e.ctx, &sdk.GetItemInput{TableName: name, Key: key(pk, `{"sk":"1"}`)})
	expect(t, outcome("", err), "!ResourceNotFoundException: Requested resource not found")
	e.create(indexedTable(name))
	if got := e.get(t, "life", pk, `{"sk":"1"}`); got != "" {
		t.Errorf("a new table of the same name has the old item %s", got)
	}
}

func TestSuiteDeletionProtection(t *testing.T) {
	e := shared()
	in := indexedTable(e.table("protected"))
	in.DeletionProtectionEnabled = aws.Bool(true)
	e.create(in)
	_, err := e.client.DeleteTable(e.ctx, &sdk.DeleteTableInput{TableName: in.TableName})
	expect(t, outcome("", err), "!ValidationException: Resource cannot be deleted as it is currently protected against deletion.")
	if _, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{TableName: in.TableName, DeletionProtectionEnabled: aws.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.client.DeleteTable(e.ctx, &sdk.DeleteTableInput{TableName: in.TableName}); err != nil {
		t.Fatal(err)
	}
}

func TestSuiteListTables(t *testing.T) {
	e := shared()
	var all []string
	var start *string
	for {
		out, err := e.client.ListTables(e.ctx, &sdk.ListTablesInput{Limit: aws.Int32(2), ExclusiveStartTableName: start})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.TableNames...)
		if start = out.LastEvaluatedTableName; start == nil {
			break
		}
	}
	if !slices.IsSorted(all) || !slices.Contains(all, *e.table("hash")) || !slices.Contains(all, *e.table("range")) {
		t.Errorf("listed %v", all)
	}
	_, err := e.client.ListTables(e.ctx, &sdk.ListTablesInput{Limit: aws.Int32(101)})
	expect(t, outcome("", err), "!ValidationException: 1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100")
}

// An index made later holds the items that were there, and follows the writes.
func TestSuiteUpdateTableIndexes(t *testing.T) {
	e := shared()
	name := e.table("altered")
	in := indexedTable(name)
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:2]
	e.create(in)
	for i := range 5 {
		e.put(t, "altered", fmt.Sprint(i), fmt.Sprintf(`{"sk":"s","g":"x","i":%d}`, i))
	}
	e.put(t, "altered", "odd", `{"sk":"s","g":5}`)
	create := func(index string) error {
		_, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{
			TableName: name, AttributeDefinitions: []types.AttributeDefinition{definition("g", "S")},
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: &index, KeySchema: []types.KeySchemaElement{element("g", "HASH")}, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			}}},
		})
		return err
	}
	count := func() string {
		out, err := e.client.Query(e.ctx, &sdk.QueryInput{
			TableName: name, IndexName: text("late"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: item(`{":g":"x"}`),
		})
		if err != nil {
			return outcome("", err)
		}
		return fmt.Sprint(out.Count)
	}
	expect(t, count(), "!ValidationException: The table does not have the specified index: late")
	if err := create("late"); err != nil {
		t.Fatal(err)
	}
	expect(t, count(), "5")
	e.put(t, "altered", "6", `{"sk":"s","g":"x"}`)
	expect(t, count(), "6")
	expect(t, outcome("", create("late")), "!ValidationException: Attempting to create an index which already exists")
	drop := func(index string) error {
		_, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{TableName: name, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &index}}}})
		return err
	}
	expect(t, outcome("", drop("nope")), "!ResourceNotFoundException: Requested resource not found")
	if err := drop("late"); err != nil {
		t.Fatal(err)
	}
	expect(t, count(), "!ValidationException: The table does not have the specified index: late")
	_, err := e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{TableName: name})
	expect(t, outcome("", err), "!ValidationException: At least one of ProvisionedThroughput, BillingMode,")
	_, err = e.client.UpdateTable(e.ctx, &sdk.UpdateTableInput{TableName: e.table("nowhere"), BillingMode: types.BillingModePayPerRequest})
	expect(t, outcome("", err), "!ResourceNotFoundException: ")
}

func TestSuiteTimeToLive(t *testing.T) {
	e := shared()
	in := indexedTable(e.table("ttl"))
	e.create(in)
	set := func(name string, on bool) string {
		_, err := e.client.UpdateTimeToLive(e.ctx, &sdk.UpdateTimeToLiveInput{TableName: in.TableName, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}})
		return outcome("", err)
	}
	state := func() string {
		out, err := e.client.DescribeTimeToLive(e.ctx, &sdk.DescribeTimeToLiveInput{TableName: in.TableName})
		if err != nil {
			return outcome("", err)
		}
		return strings.TrimSpace(string(out.TimeToLiveDescription.TimeToLiveStatus) + " " + aws.ToString(out.TimeToLiveDescription.AttributeName))
	}
	expect(t, state(), "DISABLED")
	expect(t, set("expires", false), "!ValidationException: TimeToLive is already disabled")
	expect(t, set("expires", true), "")
	expect(t, state(), "ENABLED expires")
	expect(t, set("expires", true), "!ValidationException: TimeToLive is already enabled")
	expect(t, set("other", true), "!ValidationException: TimeToLive is active on a different AttributeName: current AttributeName is expires")
	expect(t, set("expires", false), "")
	expect(t, state(), "DISABLED")
	_, err := e.client.DescribeTimeToLive(e.ctx, &sdk.DescribeTimeToLiveInput{TableName: e.table("nowhere")})
	expect(t, outcome("", err), "!ResourceNotFoundException: ")
}
