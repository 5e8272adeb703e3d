package tables

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func alterChecks() []Check {
	return []Check{
		check("alter", "an index made later holds the items that were there", lateIndex),
		check("alter", "the billing mode changes both ways", billing),
		check("alter", "provisioned throughput changes, of the table and of an index", throughputs),
		check("alter", "two indexes at once are too many", func(t *try) {
			in := Indexed(*t.table("twoatonce"))
			t.make(in)
			var both []types.GlobalSecondaryIndexUpdate
			for _, name := range []string{"all", "keys"} {
				both = append(both, types.GlobalSecondaryIndexUpdate{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &name}})
			}
			_, err := t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: in.TableName, GlobalSecondaryIndexUpdates: both})
			t.expect(Said("", err), "!LimitExceededException: Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
		}),
	}
}

// waitActive waits until the table and its indexes are active.
func (t *try) waitActive(name string) error {
	for {
		out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: &name})
		if err != nil {
			return err
		}
		busy := out.Table.TableStatus != types.TableStatusActive
		for _, x := range out.Table.GlobalSecondaryIndexes {
			busy = busy || x.IndexStatus != types.IndexStatusActive
		}
		if !busy {
			return nil
		}
		select {
		case <-t.ctx.Done():
			return t.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func units(read, write int64) *types.ProvisionedThroughput {
	return &types.ProvisionedThroughput{ReadCapacityUnits: &read, WriteCapacityUnits: &write}
}

func billing(t *try) {
	in := plainTable(t.table("billing"))
	t.make(in)
	change := func(in sdk.UpdateTableInput) string {
		in.TableName = t.table("billing")
		_, err := t.Client.UpdateTable(t.ctx, &in)
		if err == nil {
			t.must(t.waitActive(*in.TableName))
		}
		return Said("", err)
	}
	mode := func() string {
		out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: in.TableName})
		t.must(err)
		p := out.Table.ProvisionedThroughput
		billing := types.BillingModeProvisioned // without a summary it was always provisioned
		if out.Table.BillingModeSummary != nil {
			billing = out.Table.BillingModeSummary.BillingMode
		}
		return fmt.Sprintf("%s %d %d", billing, aws.ToInt64(p.ReadCapacityUnits), aws.ToInt64(p.WriteCapacityUnits))
	}
	t.expect(mode(), "PAY_PER_REQUEST 0 0")
	t.expect(change(sdk.UpdateTableInput{BillingMode: types.BillingModeProvisioned}), "!ValidationException: One or more parameter values were invalid: ProvisionedThroughput must be specified when BillingMode is PROVISIONED")
	t.expect(change(sdk.UpdateTableInput{BillingMode: types.BillingModeProvisioned, ProvisionedThroughput: units(3, 4)}), "")
	t.expect(mode(), "PROVISIONED 3 4")
	out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: in.TableName})
	t.must(err)
	if s := out.Table.BillingModeSummary; s == nil || s.BillingMode != types.BillingModeProvisioned || s.LastUpdateToPayPerRequestDateTime == nil {
		t.errorf("a table that was on demand has the summary %+v", s)
	}
	t.expect(change(sdk.UpdateTableInput{BillingMode: types.BillingModePayPerRequest}), "")
	t.expect(mode(), "PAY_PER_REQUEST 0 0")
}

func throughputs(t *try) {
	in := Indexed(*t.table("throughput"))
	in.BillingMode, in.ProvisionedThroughput = types.BillingModeProvisioned, units(1, 2)
	for i := range in.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes[i].ProvisionedThroughput = units(1, 1)
	}
	t.make(in)
	same := sdk.UpdateTableInput{TableName: in.TableName, ProvisionedThroughput: units(1, 2)}
	_, err := t.Client.UpdateTable(t.ctx, &same)
	t.expect(Said("", err), "!ValidationException: The provisioned throughput for the table will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the table: 1. Requested ReadCapacityUnits: 1. Current WriteCapacityUnits provisioned for the table: 2. Requested WriteCapacityUnits: 2.")
	_, err = t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{
		TableName: in.TableName, ProvisionedThroughput: units(5, 6),
		GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Update: &types.UpdateGlobalSecondaryIndexAction{IndexName: text("keys"), ProvisionedThroughput: units(7, 8)}}},
	})
	t.must(err)
	t.must(t.waitActive(*in.TableName))
	out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: in.TableName})
	t.must(err)
	got := fmt.Sprint(*out.Table.ProvisionedThroughput.ReadCapacityUnits, *out.Table.ProvisionedThroughput.WriteCapacityUnits)
	for _, x := range out.Table.GlobalSecondaryIndexes {
		if *x.IndexName == "keys" {
			got += fmt.Sprint(" ", *x.ProvisionedThroughput.ReadCapacityUnits, " ", *x.ProvisionedThroughput.WriteCapacityUnits)
		}
	}
	t.expect(got, "5 6 7 8")
}

// lateIndex checks that an index that was created later holds the existing items, and follows the
// writes.
func lateIndex(t *try) {
	name := t.table("altered")
	active := func() {
		t.must(t.waitActive(*name))
	}
	in := Indexed(*name)
	in.GlobalSecondaryIndexes, in.AttributeDefinitions = nil, in.AttributeDefinitions[:2]
	t.make(in)
	for i := range 5 {
		t.put("altered", fmt.Sprint(i), fmt.Sprintf(`{"sk":"s","g":"x","i":%d}`, i))
	}
	t.put("altered", "odd", `{"sk":"s","g":5}`)
	create := func(index string) error {
		_, err := t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{
			TableName: name, AttributeDefinitions: []types.AttributeDefinition{definition("g", "S")},
			GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
				IndexName: &index, KeySchema: []types.KeySchemaElement{element("g", "HASH")}, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			}}},
		})
		return err
	}
	count := func() string {
		out, err := t.Client.Query(t.ctx, &sdk.QueryInput{
			TableName: name, IndexName: text("late"), KeyConditionExpression: text("g = :g"), ExpressionAttributeValues: Item(`{":g":"x"}`),
		})
		if err != nil {
			return Said("", err)
		}
		return fmt.Sprint(out.Count)
	}
	t.expect(count(), "!ValidationException: The table does not have the specified index: late")
	t.must(create("late"))
	active()
	t.expect(count(), "5")
	t.put("altered", "6", `{"sk":"s","g":"x"}`)
	t.expect(count(), "6")
	t.expect(Said("", create("late")), "!ValidationException: Attempting to create an index which already exists")
	drop := func(index string) error {
		_, err := t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: name, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &index}}}})
		return err
	}
	t.expect(Said("", drop("nope")), "!ResourceNotFoundException: Requested resource not found")
	t.must(drop("late"))
	active()
	t.expect(count(), "!ValidationException: The table does not have the specified index: late")
	_, err := t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: name})
	t.expect(Said("", err), "!ValidationException: At least one of ProvisionedThroughput, BillingMode,")
	_, err = t.Client.UpdateTable(t.ctx, &sdk.UpdateTableInput{TableName: t.table("nowhere"), BillingMode: types.BillingModePayPerRequest})
	t.expect(Said("", err), "!ResourceNotFoundException: ")
}

func expiryChecks() []Check {
	return []Check{check("expiry", "TTL is turned on and off, and says which attribute", timeToLive)}
}

func timeToLive(t *try) {
	in := Indexed(*t.table("ttl"))
	t.make(in)
	set := func(name string, on bool) string {
		_, err := t.Client.UpdateTimeToLive(t.ctx, &sdk.UpdateTimeToLiveInput{TableName: in.TableName, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &name, Enabled: &on}})
		return Said("", err)
	}
	state := func() string {
		out, err := t.Client.DescribeTimeToLive(t.ctx, &sdk.DescribeTimeToLiveInput{TableName: in.TableName})
		if err != nil {
			return Said("", err)
		}
		return strings.TrimSpace(string(out.TimeToLiveDescription.TimeToLiveStatus) + " " + aws.ToString(out.TimeToLiveDescription.AttributeName))
	}
	t.expect(state(), "DISABLED")
	t.expect(set("expires", false), "!ValidationException: TimeToLive is already disabled")
	t.expect(set("expires", true), "")
	t.expect(state(), "ENABLED expires")
	t.expect(set("expires", true), "!ValidationException: TimeToLive is already enabled")
	t.expect(set("other", true), "!ValidationException: TimeToLive is active on a different AttributeName: current AttributeName is expires")
	t.expect(set("expires", false), "")
	t.expect(state(), "DISABLED")
	_, err := t.Client.DescribeTimeToLive(t.ctx, &sdk.DescribeTimeToLiveInput{TableName: t.table("nowhere")})
	t.expect(Said("", err), "!ResourceNotFoundException: ")
}
