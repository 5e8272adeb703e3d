package stepfunctions

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/google/go-cmp/cmp"
)

func tags(pairs ...string) []types.Tag {
	var out []types.Tag
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, types.Tag{Key: &pairs[i], Value: &pairs[i+1]})
	}
	return out
}

func (w *world) tags(arn string) []string {
	w.t.Helper()
	out, err := w.sfn.ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &arn})
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, t := range out.Tags {
		list = append(list, aws.ToString(t.Key)+"="+aws.ToString(t.Value))
	}
	return list
}

func TestTagsBelongToMachine(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	created, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String("m"), Definition: aws.String(benchMachine), RoleArn: aws.String(roleARN), Tags: tags("a", "1", "b", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	arn := *created.StateMachineArn
	if _, err := w.sfn.TagResource(ctx, &sfn.TagResourceInput{ResourceArn: &arn, Tags: tags("a", "2", "c", "3")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.sfn.UntagResource(ctx, &sfn.UntagResourceInput{ResourceArn: &arn, TagKeys: []string{"b", "none"}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"a=2", "c=3"}
	if diff := cmp.Diff(want, w.tags(arn)); diff != "" {
		t.Error(diff)
	}
	definition := strings.Replace(benchMachine, "{", `{"Comment":"new",`, 1)
	if _, err := w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: &definition}); err != nil {
		t.Fatal(err)
	}
	w.close()
	w = newWorld(t, w.path, &functions{}).start()
	defer w.close()
	if diff := cmp.Diff(want, w.tags(arn)); diff != "" {
		t.Errorf("after an update and a restart: %s", diff)
	}
}

func TestTagsAreRefused(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	defer w.close()
	arn := w.create("m", benchMachine)
	var many []string
	for i := range 51 {
		many = append(many, strings.Repeat("k", i+1), "v")
	}
	for code, list := range map[string][]types.Tag{
		"ValidationException": tags("aws:x", "1"),
		"TooManyTags":         tags(many...),
	} {
		_, err := w.sfn.TagResource(ctx, &sfn.TagResourceInput{ResourceArn: &arn, Tags: list})
		checkRefusal(t, err, code, "")
	}
	for bad, code := range map[string]string{arn + "x": "ResourceNotFound", "m": "InvalidArn", "": "ValidationException"} {
		_, err := w.sfn.ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &bad})
		checkRefusal(t, err, code, "")
	}
}

// TestUnsupportedOperationsAreRefused calls operations of other kinds of workflows.
func TestUnsupportedOperationsAreRefused(t *testing.T) {
	w := newWorld(t, "", &functions{}).start()
	defer w.close()
	arn := w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Fail"}}}`)
	run := w.run(arn, "run", "{}")
	_, err := w.sfn.RedriveExecution(ctx, &sfn.RedriveExecutionInput{ExecutionArn: &run})
	checkRefusal(t, err, "ExecutionNotRedrivable", "Execution is FAILED and cannot be redriven")
	_, err = w.sfn.PublishStateMachineVersion(ctx, &sfn.PublishStateMachineVersionInput{StateMachineArn: &arn})
	checkRefusal(t, err, "UnknownOperationException", "'PublishStateMachineVersion' is not supported")
	_, err = w.sfn.CreateActivity(ctx, &sfn.CreateActivityInput{Name: aws.String("a")})
	checkRefusal(t, err, "UnknownOperationException", "'CreateActivity' is not supported")
	versions, err := w.sfn.ListStateMachineVersions(ctx, &sfn.ListStateMachineVersionsInput{StateMachineArn: &arn})
	if err != nil || len(versions.StateMachineVersions) != 0 {
		t.Errorf("versions %v, %v", versions, err)
	}
	aliases, err := w.sfn.ListStateMachineAliases(ctx, &sfn.ListStateMachineAliasesInput{StateMachineArn: &arn})
	if err != nil || len(aliases.StateMachineAliases) != 0 {
		t.Errorf("aliases %v, %v", aliases, err)
	}
}
