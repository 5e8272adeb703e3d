package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// statement is one statement of a policy in template.yaml. Intrinsic functions are kept as they are written:
// "!GetAtt Table.Arn".
type statement struct {
	effect    string
	actions   []string
	resources []string
	line      int
}

const (
	table   = "!GetAtt Table.Arn"
	listed  = "!Sub ${Table.Arn}/index/listed"
	due     = "!Sub ${Table.Arn}/index/due"
	machine = "!Ref PlanRun"
	ownKeys = "!Sub arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/providers/*"
	hooks   = "!Sub arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}:secret:${AWS::StackName}/webhooks/*"
	jobs    = "!Ref AgentJob"
	wakes   = "states:SendTaskSuccess !Sub arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:${AWS::StackName}-AgentJob"
	bucket  = "!GetAtt FilesBucket.Arn"
	invokes = "lambda:InvokeFunction !GetAtt FilesFunction.Arn"
	manage  = "execute-api:ManageConnections !Sub arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${RealtimeApi}/live/"
)

// grants lists all permissions of each function, besides writing its log and its trace, as "action resource".
var grants = map[string][]string{
	"authorize": on(table, "GetItem", "UpdateItem"),
	"chat": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys, "states:StartExecution "+machine, "states:SendTaskSuccess "+machine, "states:StartExecution !Ref TurnRun", wakes, invokes),
	"router": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys, "secretsmanager:GetSecretValue "+hooks, "states:StartExecution !Ref TurnRun", wakes, invokes),
	"turn": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys, "states:StartExecution "+machine, "states:SendTaskSuccess "+machine, wakes, invokes),
	"agent": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys, wakes, invokes),
	"files": slices.Concat(on(table, "GetItem", "PutItem", "Query", "UpdateItem"), on(listed, "Query"), []string{"s3:ListBucket " + bucket, "s3:ListBucketVersions " + bucket},
		objects("files/*", "GetObject", "GetObjectVersion", "PutObject", "DeleteObject", "DeleteObjectVersion"),
		objects("changes/*", "GetObject", "PutObject", "DeleteObject", "DeleteObjectVersion"), objects("uploads/*", "GetObject", "PutObject", "DeleteObject", "DeleteObjectVersion")),
	"jobs":    append(append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), on(listed, "Query")...), "states:StartExecution "+jobs, "states:SendTaskSuccess "+jobs),
	"confirm": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "states:StartExecution "+machine, "states:SendTaskSuccess "+machine, wakes),
	"eligibility": append(append(on(table, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"), on(listed, "Query")...),
		"secretsmanager:GetSecretValue !Ref SecretArn", "secretsmanager:CreateSecret "+ownKeys, "secretsmanager:DeleteSecret "+ownKeys,
		"secretsmanager:GetSecretValue "+ownKeys, "secretsmanager:PutSecretValue "+ownKeys, "secretsmanager:RestoreSecret "+ownKeys, "states:StartExecution !Ref TurnRun"),
	"mcp": append(append(on(table, "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"), on(due, "Query")...),
		"sqs:SendMessage !GetAtt DeadLetters.Arn", "secretsmanager:CreateSecret "+hooks, "secretsmanager:DeleteSecret "+hooks, "secretsmanager:PutSecretValue "+hooks, "secretsmanager:RestoreSecret "+hooks),
	"realtime": append(on(table, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"), manage+"POST/@connections/*", manage+"DELETE/@connections/*"),
	"records":  append(on(table, "BatchWriteItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"), append(on(listed, "Query"), manage+"POST/@connections/*")...),
	"reason": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys),
	"conclude": append(append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), on(due, "Query")...), "secretsmanager:GetSecretValue !Ref SecretArn",
		"secretsmanager:GetSecretValue "+ownKeys, "sqs:SendMessage !GetAtt DeadLetters.Arn"),
	"lifecycle": append(append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), signPermissions...), wakes),
	"step": append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"),
		"states:SendTaskSuccess !Sub arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:${AWS::StackName}-PlanRun", wakes, invokes),
	"sweep": append(append(append(pushPermissions("GetItem", "PutItem", "Query", "UpdateItem"), on(due, "Query")...), signPermissions...),
		"sqs:SendMessage !GetAtt DeadLetters.Arn", "states:StartExecution "+machine, "states:SendTaskSuccess "+machine,
		"states:DescribeExecution !Sub arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:execution:${PlanRun.Name}:*",
		"states:StartExecution "+jobs, "states:SendTaskSuccess "+jobs, invokes,
		"states:DescribeExecution !Sub arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:execution:${AgentJob.Name}:*"),
	"web": append(on(table, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"), on(listed, "Query")...),
}

// signPermissions lists the permissions of a function that signs receipts: with one key, the stack's own or its
// replacement.
var signPermissions = []string{
	"kms:GetPublicKey !GetAtt ReceiptKey.Arn", "kms:GetPublicKey !Ref ReceiptKeyArn",
	"kms:Sign !GetAtt ReceiptKey.Arn", "kms:Sign !Ref ReceiptKeyArn",
}

// pushPermissions returns the permissions of a function that notifies connected clients of the rows that it stores.
func pushPermissions(actions ...string) []string {
	return append(on(table, append(actions, "DeleteItem")...), manage+"POST/@connections/*")
}

// objects returns the permissions for the objects of the bucket with keys of a pattern.
func objects(keys string, actions ...string) []string {
	list := make([]string, len(actions))
	for i, a := range actions {
		list[i] = "s3:" + a + " !Sub ${FilesBucket.Arn}/" + keys
	}
	return list
}

func on(resource string, actions ...string) []string {
	list := make([]string, len(actions))
	for i, a := range actions {
		list[i] = "dynamodb:" + a + " " + resource
	}
	return list
}

// withheld maps each policy that denies a part of the table to the functions without it, each with a reason.
var withheld = map[string]map[string]string{
	"NoServerKeysPolicy": {
		"mcp":    "stores the keys of servers",
		"step":   "sends them to tools",
		"chat":   "sends them with what is looked up for a plan before anybody confirms it",
		"router": "sends them with what its agents look up",
		"turn":   "does what chat and router do, for longer",
		"agent":  "sends them with what the rounds of a job look up",
	},
	"NoAgentKeysPolicy": {
		"mcp":    "stores the keys of agents",
		"router": "sends them to agents",
		"turn":   "sends them to agents",
	},
	"NoHookKeysPolicy": {
		"mcp":   "stores the secrets of hooks",
		"sweep": "signs with them",
	},
	"NoTokensPolicy": {
		"authorize": "looks tokens up, and keeps sessions that are used",
		"web":       "signs people in and out",
		"realtime":  "takes tickets, and asks whether what they came from still stands",
		"records":   "makes tickets, and asks for one that is never there, to see that the table answers",
	},
}

// undividable lists the actions that AWS allows only on the resource "*".
var undividable = []string{"logs:", "xray:"}

func TestFunctionsHaveExactlyGrantedPermissions(t *testing.T) {
	resources := rawResources(t)
	for function, want := range grants {
		role := resources[title(function)+"Role"]
		var got []string
		for _, p := range sequence(find(role, "Properties", "Policies")) {
			for _, s := range statements(find(p, "PolicyDocument", "Statement")) {
				for _, a := range s.actions {
					for _, r := range s.resources {
						got = append(got, a+" "+r)
					}
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s may\n  %s\nand should only\n  %s", function, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
		attached := sequence(find(role, "Properties", "ManagedPolicyArns"))
		has := func(policy string) bool {
			return slices.ContainsFunc(attached, func(n *yaml.Node) bool { return n.Tag == "!Ref" && n.Value == policy })
		}
		if !has("ObservePolicy") {
			t.Errorf("%s cannot write its log", function)
		}
		for policy, without := range withheld {
			if has(policy) == (without[function] != "") {
				t.Errorf("%s: %s is attached: %v; only those who need what it denies are without: %v", function, policy, has(policy), without)
			}
		}
		if function := resources[title(function)+"Function"]; scalarText(find(function, "Properties", "Role")) != "!GetAtt "+title(functionName(function))+"Role.Arn" {
			t.Errorf("template.yaml:%d: the function has another role than its own", function.Line)
		}
	}
	for _, f := range readTemplate(t).Functions {
		if grants[f.Name] == nil {
			t.Errorf("%s: what it may do is not written down", f.ID)
		}
	}
}

func TestNoStatementAllowsEveryResource(t *testing.T) {
	for id, r := range rawResources(t) {
		ofKey := scalarText(find(r, "Type")) == "AWS::KMS::Key" // its policy calls the key "*"
		walkStatements(r, func(s statement) {
			for _, a := range s.actions {
				if strings.Contains(a, "*") && s.effect == "Allow" {
					t.Errorf("template.yaml:%d: %s allows %s", s.line, id, a)
				}
				free := slices.ContainsFunc(undividable, func(p string) bool { return strings.HasPrefix(a, p) })
				if s.effect == "Allow" && slices.Contains(s.resources, "*") && !free && !ofKey {
					t.Errorf("template.yaml:%d: %s allows %s on everything", s.line, id, a)
				}
			}
		})
	}
}

// rawResources returns the unparsed resources of template.yaml.
func rawResources(t *testing.T) map[string]*yaml.Node {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]*yaml.Node{}
	list := find(doc.Content[0], "Resources")
	for i := 0; i+1 < len(list.Content); i += 2 {
		all[list.Content[i].Value] = list.Content[i+1]
	}
	return all
}

// functionName returns the name of the function in the name of its log group.
func functionName(n *yaml.Node) string {
	group := scalarText(find(n, "Properties", "LoggingConfig", "LogGroup"))
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(group, "!Ref "), "LogGroup"))
}

// find follows keys into mappings, and returns nil when one is missing.
func find(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var next *yaml.Node
		for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return n
}

func sequence(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Content
}

// scalarText returns a scalar as it is written in the file, with its intrinsic function.
func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	if strings.HasPrefix(n.Tag, "!!") {
		return n.Value
	}
	return n.Tag + " " + n.Value
}

// oneOrMany returns a scalar, or the elements of a list.
func oneOrMany(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []string{scalarText(n)}
	}
	var list []string
	items := n.Content
	if n.Tag == "!If" { // either
		items = items[1:]
	}
	for _, item := range items {
		list = append(list, scalarText(item))
	}
	return list
}

// statements returns a policy's statements. It includes those behind !If.
func statements(n *yaml.Node) []statement {
	var list []statement
	for _, item := range sequence(n) {
		if item.Tag == "!If" {
			item = item.Content[1]
		}
		list = append(list, statement{
			effect:    scalarText(find(item, "Effect")),
			actions:   oneOrMany(find(item, "Action")),
			resources: oneOrMany(find(item, "Resource")),
			line:      item.Line,
		})
	}
	return list
}

// walkStatements calls visit for every policy statement below a node.
func walkStatements(n *yaml.Node, visit func(statement)) {
	if s := find(n, "Statement"); s != nil {
		for _, one := range statements(s) {
			visit(one)
		}
	}
	for _, child := range n.Content {
		walkStatements(child, visit)
	}
}
