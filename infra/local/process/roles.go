package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"localaws/iam"
	"localaws/template"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"piloto/internal/boot"
)

// DeniedEvent is the log event of a request that the role of a function does not allow.
const DeniedEvent = "policy.denied"

// withRole returns the clients of a function, limited to the policies of its role as on AWS. A
// permission that is missing in the template therefore fails here, and not after the deployment.
func (p *Process) withRole(w boot.World, fn template.Function) (boot.World, error) {
	if fn.Role == "" {
		return w, fmt.Errorf("template.yaml:%d: %s has no role of its own", fn.Line, fn.ID)
	}
	policy, err := iam.Read(p.deployment.Policies[fn.ID]...)
	if err != nil {
		return w, fmt.Errorf("template.yaml:%d: the role of %s: %w", fn.Line, fn.ID, err)
	}
	g := guard{
		policy: policy, function: fn.ID, tables: "arn:" + p.names["AWS::Partition"] + ":dynamodb:" + awsRegion + ":" + p.names["AWS::AccountId"] + ":table/", account: p.names["AWS::AccountId"], partition: p.names["AWS::Partition"],
		machineOf: p.engines.Machines.MachineOf, sockets: p.names[p.template.Socket.ID] + "/" + p.template.Socket.Stage, log: p.log,
	}
	for _, config := range []*aws.Config{&w.StepFunctions, &w.Secrets, &w.Objects} {
		*config = config.Copy()
		config.APIOptions = append(slices.Clip(config.APIOptions), g.install)
	}
	for config, requested := range map[*aws.Config]func(*http.Request) iam.Request{&w.Push: g.connectionRequest, &w.Functions: g.callRequest} {
		*config = config.Copy()
		config.HTTPClient = guardedClient{g, requested, config.HTTPClient}
	}
	w.Tables = p.tableClient(&g)
	return w, nil
}

// guard refuses requests that a policy does not allow, before they are sent.
type guard struct {
	policy   iam.Policy
	function string

	account, partition string
	tables             string                    // the ARN of a table, without its name
	machineOf          func(token string) string // ARN of the machine whose task waits with it; "" when none does
	sockets            string                    // API/STAGE of the WebSocket API

	log *slog.Logger
}

func (g guard) install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Policy", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if err := g.check(ctx, in.Parameters); err != nil {
			return middleware.InitializeOutput{}, middleware.Metadata{}, err
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// check returns AWS's error for an SDK call that the policy does not allow.
func (g guard) check(ctx context.Context, call any) error {
	return g.judge(ctx, g.requests(call)...)
}

// judge does the same for requests.
func (g guard) judge(ctx context.Context, requests ...iam.Request) error {
	for _, r := range requests {
		if err := g.policy.Check(r); err != nil {
			g.log.ErrorContext(ctx, DeniedEvent, "function", g.function, "error", err)
			return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: g.function + " is " + err.Error(), Fault: smithy.FaultClient}
		}
	}
	return nil
}

// requests returns the permissions that an SDK call needs. Each item of a transaction is one
// request; the items of a batch are one request together.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
func (g guard) requests(call any) []iam.Request {
	switch in := call.(type) {
	case *dynamodb.GetItemInput:
		return g.itemRequests("GetItem", in.TableName, in.Key)
	case *dynamodb.PutItemInput:
		return g.itemRequests("PutItem", in.TableName, in.Item)
	case *dynamodb.UpdateItemInput:
		return g.itemRequests("UpdateItem", in.TableName, in.Key)
	case *dynamodb.DeleteItemInput:
		return g.itemRequests("DeleteItem", in.TableName, in.Key)
	case *dynamodb.QueryInput:
		return g.queryRequests(in)
	case *dynamodb.BatchWriteItemInput:
		var all []iam.Request
		for table, of := range in.RequestItems {
			all = append(all, g.itemRequests("BatchWriteItem", &table, writeKeys(of)...)...)
		}
		return all
	case *dynamodb.TransactWriteItemsInput:
		var all []iam.Request
		for _, it := range in.TransactItems {
			all = append(all, g.transactionRequests(it)...)
		}
		return all
	case *sfn.StartExecutionInput:
		return []iam.Request{{Action: "states:StartExecution", Resource: *in.StateMachineArn}}
	case *sfn.DescribeExecutionInput:
		return []iam.Request{{Action: "states:DescribeExecution", Resource: *in.ExecutionArn}}
	case *sfn.SendTaskSuccessInput:
		machine := g.machineOf(*in.TaskToken)
		if machine == "" { // the engine refuses the token
			return nil
		}
		return []iam.Request{{Action: "states:SendTaskSuccess", Resource: machine}}
	case *secretsmanager.GetSecretValueInput:
		return g.secretRequests("GetSecretValue", in.SecretId)
	case *secretsmanager.PutSecretValueInput:
		return g.secretRequests("PutSecretValue", in.SecretId)
	case *secretsmanager.CreateSecretInput:
		return g.secretRequests("CreateSecret", in.Name)
	case *secretsmanager.RestoreSecretInput:
		return g.secretRequests("RestoreSecret", in.SecretId)
	case *secretsmanager.DeleteSecretInput:
		return g.secretRequests("DeleteSecret", in.SecretId)
	case *s3.ListObjectsV2Input:
		return g.objectRequests(in.Bucket, nil, "ListBucket")
	case *s3.ListObjectVersionsInput:
		return g.objectRequests(in.Bucket, nil, "ListBucketVersions")
	case *s3.GetObjectInput:
		return g.objectRequests(in.Bucket, in.Key, readAction(in.VersionId))
	case *s3.HeadObjectInput:
		return g.objectRequests(in.Bucket, in.Key, readAction(in.VersionId))
	case *s3.PutObjectInput:
		return g.objectRequests(in.Bucket, in.Key, conditional("PutObject", in.IfMatch)...)
	case *s3.DeleteObjectInput:
		if in.VersionId != nil {
			return g.objectRequests(in.Bucket, in.Key, "DeleteObjectVersion")
		}
		return g.objectRequests(in.Bucket, in.Key, conditional("DeleteObject", in.IfMatch)...)
	}
	return []iam.Request{{Action: fmt.Sprintf("%T", call)}} // no policy allows this action
}

func (g guard) transactionRequests(it types.TransactWriteItem) []iam.Request {
	switch {
	case it.Put != nil:
		return g.itemRequests("PutItem", it.Put.TableName, it.Put.Item)
	case it.Update != nil:
		return g.itemRequests("UpdateItem", it.Update.TableName, it.Update.Key)
	case it.Delete != nil:
		return g.itemRequests("DeleteItem", it.Delete.TableName, it.Delete.Key)
	}
	return g.itemRequests("ConditionCheckItem", it.ConditionCheck.TableName, it.ConditionCheck.Key)
}

func writeKeys(requests []types.WriteRequest) []map[string]types.AttributeValue {
	var keys []map[string]types.AttributeValue
	for _, w := range requests {
		if w.PutRequest != nil {
			keys = append(keys, w.PutRequest.Item)
		} else {
			keys = append(keys, w.DeleteRequest.Key)
		}
	}
	return keys
}

// partitionKey is the attribute of the table's partition key.
const partitionKey = "PK"

// partitionValue matches the comparison of the partition key, which is the first of a key condition.
var partitionValue = regexp.MustCompile(`^\(*\w+ = (:\w+)`)

func (g guard) itemRequests(action string, table *string, keys ...map[string]types.AttributeValue) []iam.Request {
	r := iam.Request{Action: "dynamodb:" + action, Resource: g.tableARN(table)}
	for _, k := range keys {
		r.Keys = append(r.Keys, stringValue(k[partitionKey]))
	}
	return []iam.Request{r}
}

func (g guard) queryRequests(in *dynamodb.QueryInput) []iam.Request {
	r := iam.Request{Action: "dynamodb:Query", Resource: g.tableARN(in.TableName), Keys: []string{""}}
	if m := partitionValue.FindStringSubmatch(*in.KeyConditionExpression); m != nil {
		r.Keys[0] = stringValue(in.ExpressionAttributeValues[m[1]])
	}
	if in.IndexName != nil {
		r.Resource += "/index/" + *in.IndexName
	}
	return []iam.Request{r}
}

func stringValue(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

func (g guard) tableARN(name *string) string { return g.tables + *name }

// secretRequests returns the request for a secret, by ARN or by name. Secrets Manager adds six
// letters to the name in its ARN.
func (g guard) secretRequests(action string, id *string) []iam.Request {
	resource := *id
	if !strings.HasPrefix(resource, "arn:") {
		resource = g.arn("secretsmanager", "secret:"+resource+"-a1B2c3")
	}
	return []iam.Request{{Action: "secretsmanager:" + action, Resource: resource}}
}

// objectRequests returns the requests for an object, or for the bucket when the key is nil. An ARN of S3 has no region and
// no account.
func (g guard) objectRequests(bucket, key *string, actions ...string) []iam.Request {
	resource := "arn:" + g.partition + ":s3:::" + *bucket
	if key != nil {
		resource += "/" + *key
	}
	all := make([]iam.Request, len(actions))
	for i, action := range actions {
		all[i] = iam.Request{Action: "s3:" + action, Resource: resource}
	}
	return all
}

// readAction returns the permission that a read needs, of the current version or of another one.
func readAction(version *string) string {
	if version != nil {
		return "GetObjectVersion"
	}
	return "GetObject"
}

// conditional returns the permissions that a change needs. One with If-Match reads the object, too.
func conditional(action string, match *string) []string {
	if match != nil {
		return []string{action, "GetObject"}
	}
	return []string{action}
}

// guardedClient refuses requests of package signed that a policy does not allow.
type guardedClient struct {
	guard     guard
	requested func(*http.Request) iam.Request
	client    aws.HTTPClient
}

// Do implements aws.HTTPClient. It answers as AWS does.
func (c guardedClient) Do(r *http.Request) (*http.Response, error) {
	err := c.guard.judge(r.Context(), c.requested(r))
	if err == nil {
		return c.client.Do(r)
	}
	body, _ := json.Marshal(map[string]string{"Message": err.Error()}) // a text
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"X-Amzn-Errortype": {"AccessDeniedException"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// callRequest returns the request of a call of a function: POST …/functions/NAME/invocations.
func (g guard) callRequest(r *http.Request) iam.Request {
	_, after, _ := strings.Cut(r.URL.Path, "/functions/")
	name, _, _ := strings.Cut(after, "/")
	return iam.Request{Action: "lambda:InvokeFunction", Resource: g.arn("lambda", "function:"+name)}
}

// connectionRequest returns the request about a connection: METHOD …/@connections/ID.
func (g guard) connectionRequest(r *http.Request) iam.Request {
	_, id, _ := strings.Cut(r.URL.Path, "/@connections/")
	return iam.Request{Action: "execute-api:ManageConnections", Resource: g.arn("execute-api", g.sockets+"/"+r.Method+"/@connections/"+id)}
}

func (g guard) arn(service, resource string) string {
	return strings.Join([]string{"arn", g.partition, service, awsRegion, g.account, resource}, ":")
}
