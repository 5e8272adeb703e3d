package tables

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// descriptionChecks covers requests of tools about a table other than its items: infrastructure as
// code, consoles and SDKs.
func descriptionChecks() []Check {
	return []Check{
		check("description", "a table made is being created, with an ARN and an id", creationStatus),
		check("description", "items are counted", itemCount),
		check("description", "tags are put on, listed and taken off", tableTags),
		check("description", "tags come with the table", func(t *try) {
			in := plainTable(t.table("borntagged"))
			in.Tags = []types.Tag{{Key: text("team"), Value: text("a")}}
			t.make(in)
			t.expect(t.tags(t.arn("borntagged")), "team=a")
		}),
		check("description", "tags of a table that is not there", func(t *try) {
			arn := strings.Replace(t.arn("hash"), t.prefix, "nowhere-", 1)
			_, err := t.Client.ListTagsOfResource(t.ctx, &sdk.ListTagsOfResourceInput{ResourceArn: &arn})
			t.expect(Said("", err), "!ResourceNotFoundException: Requested resource not found")
		}),
		check("description", "limits", func(t *try) {
			out, err := t.Client.DescribeLimits(t.ctx, &sdk.DescribeLimitsInput{})
			t.must(err)
			if aws.ToInt64(out.AccountMaxReadCapacityUnits) < 80000 || aws.ToInt64(out.TableMaxWriteCapacityUnits) < 40000 {
				t.errorf("got %+v", out)
			}
		}),
		check("description", "endpoints", func(t *try) {
			out, err := t.Client.DescribeEndpoints(t.ctx, &sdk.DescribeEndpointsInput{})
			t.must(err)
			if len(out.Endpoints) != 1 || aws.ToString(out.Endpoints[0].Address) == "" || out.Endpoints[0].CachePeriodInMinutes < 1 {
				t.errorf("got %+v", out.Endpoints)
			}
		}),
		check("description", "continuous backups are off", func(t *try) {
			out, err := t.Client.DescribeContinuousBackups(t.ctx, &sdk.DescribeContinuousBackupsInput{TableName: t.table("hash")})
			t.must(err)
			d := out.ContinuousBackupsDescription
			t.expect(fmt.Sprintf("%s %s", d.ContinuousBackupsStatus, d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus), "ENABLED DISABLED")
			_, err = t.Client.DescribeContinuousBackups(t.ctx, &sdk.DescribeContinuousBackupsInput{TableName: t.table("nowhere")})
			t.expect(Said("", err), "!TableNotFoundException: Table not found: "+*t.table("nowhere"))
		}),
		check("description", "a table may be named by its ARN", func(t *try) {
			pk := t.id()
			t.put("hash", pk, `{"a":1}`)
			arn := t.arn("hash")
			out, err := t.Client.GetItem(t.ctx, &sdk.GetItemInput{TableName: &arn, Key: Key(pk, "")})
			t.must(err)
			t.expect(Show(out.Item), `{"a":1,"pk":"`+pk+`"}`)
		}),
		check("description", "class, encryption and protection are shown", func(t *try) {
			in := plainTable(t.table("dressed"))
			in.TableClass, in.DeletionProtectionEnabled = types.TableClassStandardInfrequentAccess, aws.Bool(true)
			in.SSESpecification = &types.SSESpecification{Enabled: aws.Bool(true)}
			t.make(in)
			out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: in.TableName})
			t.must(err)
			d := out.Table
			if d.TableClassSummary == nil || d.SSEDescription == nil {
				t.errorf("class %v, encryption %v", d.TableClassSummary, d.SSEDescription)
				return
			}
			t.expect(fmt.Sprint(d.TableClassSummary.TableClass, " ", d.SSEDescription.Status, " ", d.SSEDescription.SSEType, " ", *d.DeletionProtectionEnabled), "STANDARD_INFREQUENT_ACCESS ENABLED KMS true")
		}),
	}
}

var (
	arnForm = regexp.MustCompile(`^arn:aws:dynamodb:[a-z0-9-]+:[0-9]{12}:table/`)
	idForm  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

func creationStatus(t *try) {
	in := Indexed(*t.table("created"))
	out, err := t.Client.CreateTable(t.ctx, in)
	t.must(err)
	d := out.TableDescription
	t.expect(string(d.TableStatus), "CREATING")
	for _, x := range d.GlobalSecondaryIndexes {
		t.expect(string(x.IndexStatus), "CREATING")
	}
	t.must(t.waitActive(*in.TableName))
	if !arnForm.MatchString(aws.ToString(d.TableArn)) || !strings.HasSuffix(*d.TableArn, "/"+*in.TableName) || !idForm.MatchString(aws.ToString(d.TableId)) || d.CreationDateTime == nil {
		t.errorf("arn %s, id %s, created %v", aws.ToString(d.TableArn), aws.ToString(d.TableId), d.CreationDateTime)
	}
	for _, x := range d.GlobalSecondaryIndexes {
		t.expect(aws.ToString(x.IndexArn), *d.TableArn+"/index/"+*x.IndexName)
	}
}

func itemCount(t *try) {
	in := Indexed(*t.table("counted"))
	t.make(in)
	for i := range 3 {
		t.put("counted", "p", fmt.Sprintf(`{"sk":"%d"}`, i))
	}
	out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: in.TableName})
	t.must(err)
	// The service updates these about every six hours.
	if n := aws.ToInt64(out.Table.ItemCount); n != 3 && n != 0 || out.Table.TableSizeBytes == nil {
		t.errorf("%d items, %v bytes", n, out.Table.TableSizeBytes)
	}
}

func (t *try) arn(table string) string {
	out, err := t.Client.DescribeTable(t.ctx, &sdk.DescribeTableInput{TableName: t.table(table)})
	t.must(err)
	return aws.ToString(out.Table.TableArn)
}

func (t *try) tags(arn string) string {
	out, err := t.Client.ListTagsOfResource(t.ctx, &sdk.ListTagsOfResourceInput{ResourceArn: &arn})
	t.must(err)
	var list []string
	for _, tag := range out.Tags {
		list = append(list, aws.ToString(tag.Key)+"="+aws.ToString(tag.Value))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func tableTags(t *try) {
	in := plainTable(t.table("tagged"))
	t.make(in)
	arn := t.arn("tagged")
	t.expect(t.tags(arn), "")
	_, err := t.Client.TagResource(t.ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: []types.Tag{{Key: text("a"), Value: text("1")}, {Key: text("b"), Value: text("2")}}})
	t.must(err)
	_, err = t.Client.TagResource(t.ctx, &sdk.TagResourceInput{ResourceArn: &arn, Tags: []types.Tag{{Key: text("a"), Value: text("3")}}})
	t.must(err)
	t.expect(t.tags(arn), "a=3 b=2")
	_, err = t.Client.UntagResource(t.ctx, &sdk.UntagResourceInput{ResourceArn: &arn, TagKeys: []string{"b", "gone"}})
	t.must(err)
	t.expect(t.tags(arn), "a=3")
}
