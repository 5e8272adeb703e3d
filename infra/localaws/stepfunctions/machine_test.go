package stepfunctions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

func TestStateMachineLifecycle(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		if want := "arn:aws:states:us-east-1:123456789012:stateMachine:m"; arn != want {
			t.Errorf("arn %s, want %s", arn, want)
		}
		if again := w.create("m", passMachine); again != arn {
			t.Errorf("creating the same again gave %s", again)
		}
		_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("m"), Definition: aws.String(waitMachine), RoleArn: aws.String(roleARN)})
		var exists *types.StateMachineAlreadyExists
		if !errors.As(err, &exists) {
			t.Errorf("another definition under the name: %v", err)
		}
		checkRefusal(t, err, "StateMachineAlreadyExists", "State Machine Already Exists: '"+arn+"'")
		up, err := w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: aws.String(waitMachine)})
		if err != nil {
			t.Fatal(err)
		}
		d, err := w.sfn.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		if *d.Definition != waitMachine || *d.Name != "m" || *d.RoleArn != roleARN || d.Status != "ACTIVE" || d.Type != "STANDARD" ||
			*d.RevisionId != *up.RevisionId || d.LoggingConfiguration.Level != "OFF" || d.TracingConfiguration.Enabled {
			t.Errorf("described as %+v", d)
		}
		_, err = w.sfn.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn})
		checkRefusal(t, err, "MissingRequiredParameter", "Either the definition")
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Error(err)
		}
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Errorf("deleting what is gone: %v", err)
		}
		_, err = w.sfn.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
		checkRefusal(t, err, "StateMachineDoesNotExist", "State Machine Does Not Exist: '"+arn+"'")
	})
}

func TestDeleteStateMachineStopsExecutions(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", waitMachine)
		run := w.run(arn, "r", "{}")
		if _, err := w.sfn.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &arn}); err != nil {
			t.Fatal(err)
		}
		if out := w.describe(run); out.Status != types.ExecutionStatusAborted {
			t.Errorf("status %s", out.Status)
		}
	})
}

func TestCreateRefusesBadInput(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for name, code := range map[string]string{"a b": "InvalidName", "a/b": "InvalidName", strings.Repeat("x", 81): "ValidationException", "é\u0001": "InvalidName"} {
			_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: &name, Definition: aws.String(passMachine), RoleArn: aws.String(roleARN)})
			checkRefusal(t, err, code, map[string]string{"InvalidName": "Invalid Name: '", "ValidationException": "at 'name'"}[code])
		}
		_, err := w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(`{"StartAt":"A"}`), RoleArn: aws.String(roleARN)})
		checkRefusal(t, err, "InvalidDefinition", "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: These fields are required: [States] at /'")
		_, err = w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(passMachine), RoleArn: aws.String(roleARN), Type: "EXPRESS"})
		checkRefusal(t, err, "StateMachineTypeNotSupported", "EXPRESS")
		_, err = w.sfn.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{Name: aws.String("x"), Definition: aws.String(passMachine), RoleArn: aws.String("role")})
		checkRefusal(t, err, "InvalidArn", "Invalid Arn")
	})
}

func TestListStateMachinesPages(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		var want, got []string
		for i := range 13 {
			want = append(want, w.create(fmt.Sprintf("m%02d", i), passMachine))
		}
		pages := sfn.NewListStateMachinesPaginator(w.sfn, &sfn.ListStateMachinesInput{MaxResults: 5})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.StateMachines {
				got = append(got, *m.StateMachineArn)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestValidateStateMachineDefinition(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for definition, want := range map[string]types.ValidateStateMachineDefinitionDiagnostic{
			"not a definition": {Code: aws.String("INVALID_JSON_DESCRIPTION"), Message: aws.String("Unrecognized token 'not': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')")},
			"{}":               {Code: aws.String("SCHEMA_VALIDATION_FAILED"), Message: aws.String("These fields are required: [States, StartAt]"), Location: aws.String("/")},
			"[]":               {Code: aws.String("SCHEMA_VALIDATION_FAILED"), Message: aws.String("Definition must be a valid JSON object")},
		} {
			out, err := w.sfn.ValidateStateMachineDefinition(ctx, &sfn.ValidateStateMachineDefinitionInput{Definition: &definition})
			if err != nil || out.Result != "FAIL" || len(out.Diagnostics) != 1 {
				t.Errorf("%s: %+v %v", definition, out, err)
				continue
			}
			d := out.Diagnostics[0]
			if *d.Code != *want.Code || *d.Message != *want.Message || aws.ToString(d.Location) != aws.ToString(want.Location) || d.Severity != "ERROR" {
				t.Errorf("%s: %s %s %s", definition, *d.Code, *d.Message, aws.ToString(d.Location))
			}
		}
		out, err := w.sfn.ValidateStateMachineDefinition(ctx, &sfn.ValidateStateMachineDefinitionInput{Definition: aws.String(passMachine)})
		if err != nil || out.Result != "OK" || len(out.Diagnostics) != 0 {
			t.Errorf("%+v %v", out, err)
		}
	})
}
