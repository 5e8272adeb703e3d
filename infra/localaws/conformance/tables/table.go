package tables

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func tableChecks() []Check {
	return append(refusals("table", tableRefusals, func(t *try, in *sdk.CreateTableInput) string {
		_, err := t.Client.CreateTable(t.ctx, in)
		return Said("", err)
	}),
		check("table", "lives from its creation to its deletion", lifecycle),
		check("table", "deletion protection holds until it is taken off", protection),
		check("table", "tables are listed in order, in pages", listing),
	)
}

func tableRefusals(t *try) map[string]refusal[*sdk.CreateTableInput] {
	valid := func() *sdk.CreateTableInput { return Indexed(*t.table("refused" + t.mark)) }
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
	return map[string]refusal[*sdk.CreateTableInput]{
		"exists":              {Indexed(*t.table("indexed")), "!ResourceInUseException: "},
		"short name":          {simple(func(in *sdk.CreateTableInput) { in.TableName = aws.String("ab") }), "!ValidationException: 1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3"},
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
	}
}

func lifecycle(t *try) {
	name := t.table("life")
	t.make(Indexed(*name))
	pk := t.id()
	t.put("life", pk, `{"sk":"1","g":"x"}`)
	d, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: name})
	t.must(err)
	if d.Table.TableStatus != types.TableStatusActive || len(d.Table.GlobalSecondaryIndexes) != 3 || len(d.Table.KeySchema) != 2 ||
		len(d.Table.AttributeDefinitions) != 4 || d.Table.BillingModeSummary.BillingMode != types.BillingModePayPerRequest || d.Table.CreationDateTime == nil {
		t.errorf("described as %+v", d.Table)
	}
	_, err = t.Client.DeleteTable(t.ctx, &sdk.DeleteTableInput{TableName: name})
	t.must(err)
	t.must(sdk.NewTableNotExistsWaiter(t.Client).Wait(t.ctx, &sdk.DescribeTableInput{TableName: name}, time.Minute))
	gone := "!ResourceNotFoundException: Requested resource not found: Table: " + *name + " not found"
	_, err = t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: name})
	t.expect(Said("", err), gone)
	_, err = t.Client.DeleteTable(t.ctx, &sdk.DeleteTableInput{TableName: name})
	t.expect(Said("", err), gone)
	_, err = t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: name, Key: Key(pk, `{"sk":"1"}`)})
	t.expect(Said("", err), "!ResourceNotFoundException: Requested resource not found")
	t.make(Indexed(*name))
	if got := t.get("life", pk, `{"sk":"1"}`); got != "" {
		t.errorf("a new table of the same name has the old item %s", got)
	}
}

func protection(t *try) {
	in := Indexed(*t.table("protected"))
	in.DeletionProtectionEnabled = aws.Bool(true)
	t.make(in)
	_, err := t.Client.DeleteTable(t.ctx, &sdk.DeleteTableInput{TableName: in.TableName})
	t.expect(Said("", err), "!ValidationException: Resource cannot be deleted as it is currently protected against deletion.")
	_, err = t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: in.TableName, DeletionProtectionEnabled: aws.Bool(false)})
	t.must(err)
	_, err = t.Client.DeleteTable(t.ctx, &sdk.DeleteTableInput{TableName: in.TableName})
	t.must(err)
}

func listing(t *try) {
	var all []string
	var start *string
	for {
		out, err := t.Client.ListTables(t.ctx, &sdk.ListTablesInput{Limit: aws.Int32(2), ExclusiveStartTableName: start})
		t.must(err)
		all = append(all, out.TableNames...)
		if start = out.LastEvaluatedTableName; start == nil {
			break
		}
	}
	if !slices.IsSorted(all) || !slices.Contains(all, *t.table("hash")) || !slices.Contains(all, *t.table("range")) {
		t.errorf("listed %v", all)
	}
	_, err := t.Client.ListTables(t.ctx, &sdk.ListTablesInput{ExclusiveStartTableName: aws.String("a")})
	t.expect(Said("", err), "!ValidationException: 1 validation error detected: Value 'a' at 'exclusiveStartTableName' failed to satisfy constraint: Member must have length greater than or equal to 3")
	_, err = t.Client.ListTables(t.ctx, &sdk.ListTablesInput{Limit: aws.Int32(101)})
	t.expect(Said("", err), "!ValidationException: 1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100")
}
