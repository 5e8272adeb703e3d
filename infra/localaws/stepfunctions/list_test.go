package stepfunctions

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

func TestListExecutionsPagesNewestFirst(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", passMachine)
		other := w.create("l", waitMachine)
		w.create("n", passMachine)
		for i := range 25 {
			w.finish(w.run(arn, fmt.Sprintf("e%02d", i), "{}"))
		}
		w.run(other, "w", "{}")
		var names []string
		pages := sfn.NewListExecutionsPaginator(w.sfn, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 10, StatusFilter: "SUCCEEDED"})
		count := 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			count++
			for _, x := range page.Executions {
				names = append(names, *x.Name)
			}
		}
		if count != 3 || len(names) != 25 || names[0] != "e24" || names[24] != "e00" {
			t.Errorf("%d pages: %v", count, names)
		}
		for filter, want := range map[types.ExecutionStatus]int{"RUNNING": 1, "SUCCEEDED": 0, "": 1} {
			out, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &other, StatusFilter: filter})
			if err != nil || len(out.Executions) != want {
				t.Errorf("%s: %d, %v", filter, len(out.Executions), err)
			}
		}
		_, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, StatusFilter: "succeeded"})
		checkRefusal(t, err, "ValidationException", "1 validation error detected: Value 'succeeded' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: [SUCCEEDED, TIMED_OUT, PENDING_REDRIVE, ABORTED, FAILED, RUNNING]")
		_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 1001})
		checkRefusal(t, err, "ValidationException", "Value '1001' at 'maxResults' failed to satisfy constraint: Member must have value less than or equal to 1000")
		page, err := w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, MaxResults: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"x", *page.NextToken + "x", base64.StdEncoding.EncodeToString([]byte("executions m\x009"))} {
			_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &arn, NextToken: &token})
			checkRefusal(t, err, "InvalidToken", "Invalid Token: 'Invalid token'")
		}
		_, err = w.sfn.ListExecutions(ctx, &sfn.ListExecutionsInput{StateMachineArn: &other, NextToken: page.NextToken})
		checkRefusal(t, err, "InvalidToken", "")
	})
}

func TestHistoryOrderPagesAndData(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		arn := w.create("m", `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":1,"Next":"B"},"B":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f"},"OutputPath":"$.Payload","End":true}}}`)
		run := w.run(arn, "r", `{"a":1}`)
		w.finish(run)
		forward := brief(w.history(run))
		var back []string
		pages := sfn.NewGetExecutionHistoryPaginator(w.sfn, &sfn.GetExecutionHistoryInput{ExecutionArn: &run, MaxResults: 2, ReverseOrder: true})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, brief(page.Events)...)
		}
		slices.Reverse(back)
		if !slices.Equal(forward, back) || len(forward) != 9 {
			t.Errorf("forward %v\nback %v", forward, back)
		}
		full, err := w.sfn.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &run})
		if err != nil {
			t.Fatal(err)
		}
		started, scheduled := full.Events[0].ExecutionStartedEventDetails, full.Events[4].TaskScheduledEventDetails
		if *started.Input != `{"a":1}` || *started.RoleArn != roleARN || started.InputDetails.Truncated ||
			*scheduled.Resource != "invoke" || *scheduled.ResourceType != "lambda" || *scheduled.Region != "us-east-1" || *scheduled.Parameters != `{"FunctionName":"f"}` {
			t.Errorf("%+v %+v", started, scheduled)
		}
		if d := full.Events[3].Timestamp.Sub(*full.Events[0].Timestamp); d != time.Second {
			t.Errorf("timestamps are %s apart", d)
		}
		bare, err := w.sfn.GetExecutionHistory(ctx, &sfn.GetExecutionHistoryInput{ExecutionArn: &run, IncludeExecutionData: aws.Bool(false)})
		if err != nil || bare.Events[0].ExecutionStartedEventDetails.Input != nil || *bare.Events[1].StateEnteredEventDetails.Name != "A" {
			t.Errorf("%+v %v", bare.Events[0].ExecutionStartedEventDetails, err)
		}
	})
}
