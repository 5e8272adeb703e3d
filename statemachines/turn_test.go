package statemachines_test

import (
	"context"
	"encoding/json"
	"localaws/stepfunctions"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"piloto/statemachines"
)

const turnARN = "arn:aws:lambda:us-east-1:123456789012:function:turn"

// answerer simulates the function of turns: it fails the given number of times at each of its
// tasks.
type answerer struct {
	fails   map[bool]int // number of failures, by give_up
	calls   map[bool]int
	foreign []string // payloads with other data than ids
}

func (a *answerer) Invoke(_ context.Context, _ string, payload []byte) ([]byte, *stepfunctions.FunctionError, error) {
	var in statemachines.TurnInput
	if err := json.Unmarshal(payload, &in); err != nil || in.TurnID != "turn1" || in.AccountID != "acct1" || len(payload) > 100 {
		a.foreign = append(a.foreign, string(payload))
	}
	if a.calls[in.GiveUp]++; a.calls[in.GiveUp] <= a.fails[in.GiveUp] {
		return nil, &stepfunctions.FunctionError{Type: "Task.Failed", Message: "as the case says"}, nil
	}
	return []byte("{}"), nil, nil
}

func TestTurnIsAnsweredOrGivenUp(t *testing.T) {
	definition := strings.ReplaceAll(string(statemachines.TurnDefinition), "${"+statemachines.TurnFunctionArn+"}", turnARN)
	for name, c := range map[string]struct {
		fails map[bool]int
		calls [2]int // of Answer, and of GiveUp
		ends  types.ExecutionStatus
	}{
		"at once":                      {nil, [2]int{1, 0}, types.ExecutionStatusSucceeded},
		"after the one who died":       {map[bool]int{false: 12}, [2]int{13, 0}, types.ExecutionStatusSucceeded},
		"never":                        {map[bool]int{false: 100, true: 3}, [2]int{13, 4}, types.ExecutionStatusSucceeded},
		"never, and nobody is told so": {map[bool]int{false: 100, true: 100}, [2]int{13, 9}, types.ExecutionStatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answerer{c.fails, map[bool]int{}, nil}
				in := statemachines.TurnInput{TurnID: "turn1", AccountID: "acct1"}
				ends, _ := perform(t, a, definition, in, func(*sfn.Client) {})
				if got := [2]int{a.calls[false], a.calls[true]}; ends != c.ends || got != c.calls || len(a.foreign) > 0 {
					t.Errorf("%s after %v calls, want %s after %v; alien %q", ends, got, c.ends, c.calls, a.foreign)
				}
			})
		})
	}
}
