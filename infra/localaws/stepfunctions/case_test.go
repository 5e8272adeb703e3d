package stepfunctions

import (
	"localaws/conformance/machines"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

func loadCases(t testing.TB) []machines.Case {
	t.Helper()
	all, err := machines.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameJSON(t testing.TB, got, want []byte) bool {
	t.Helper()
	same, err := machines.SameJSON(got, want)
	if err != nil {
		t.Errorf("not JSON: %s", got)
	}
	return same
}

func TestCasesBehaveAsDescribed(t *testing.T) {
	cases := loadCases(t)
	if len(cases) < 90 {
		t.Errorf("only %d cases", len(cases))
	}
	for i, c := range cases {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(c.ID(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runCase(t, &c) })
		})
	}
}

func runCase(t *testing.T, c *machines.Case) {
	w := newWorld(t, "", scriptedFunctions(c.Functions)).start()
	defer w.close()
	if c.Refused != "" {
		checkRefusedAt(t, w, c)
		return
	}
	arn := w.run(w.create("machine", c.DefinitionText("")), "run", c.InputText(""))
	out := w.finish(arn)
	for _, wrong := range c.Check(machines.Result{
		Status: string(out.Status), Output: aws.ToString(out.Output), Error: aws.ToString(out.Error), Cause: aws.ToString(out.Cause),
		Elapsed: out.StopDate.Sub(*out.StartDate), History: brief(w.history(arn)), Calls: w.fns.Calls(),
	}, 5*time.Millisecond) {
		t.Error(wrong)
	}
	if n := len(w.engine.open); n != 0 {
		t.Errorf("%d executions are still held in memory", n)
	}
}

func checkRefusedAt(t *testing.T, w *world, c *machines.Case) {
	t.Helper()
	_, err := w.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String("machine"), Definition: aws.String(c.DefinitionText("")), RoleArn: aws.String(roleARN),
	})
	if apiCode(err) != "InvalidDefinition" || !strings.Contains(err.Error(), " at "+c.Refused) {
		t.Errorf("%v, want a refusal at %s", err, c.Refused)
	}
}
