package stepfunctions

import (
	"errors"
	"strings"
	"testing"
)

// stateMachine wraps the fields of a state into a machine with one state A.
func stateMachine(fields string) string { return `{"StartAt":"A","States":{"A":{` + fields + `}}}` }

const (
	taskState = `"Type":"Task","Resource":"arn:aws:lambda:us-east-1:1:function:f","End":true`
	innerMap  = `{"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}`
	mapState  = `"Type":"Map","ItemProcessor":` + innerMap + `,"End":true`
)

// choiceMachine returns a machine whose Choice state has the given rules.
func choiceMachine(rules string) string {
	return `{"StartAt":"A","States":{"A":{"Type":"Choice","Choices":[` + rules + `]},"B":{"Type":"Succeed"}}}`
}

// unsupported holds definitions and, for each, the pointer of a finding it must
// have.
var unsupported = map[string]string{
	`{"StartAt":"A","States":{},"x":1}`:                                                                      "/x",
	`{"StartAt":"A","States":{}}`:                                                                            "/States",
	`{"StartAt":"Z","States":{"A":{"Type":"Succeed"}}}`:                                                      "/StartAt",
	`{"StartAt":"A","QueryLanguage":"JSONata","States":{"A":{"Type":"Succeed"}}}`:                            "/QueryLanguage",
	`{"StartAt":"A","Version":"2.0","States":{"A":{"Type":"Succeed"}}}`:                                      "/Version",
	`{"StartAt":"A","TimeoutSeconds":0,"States":{"A":{"Type":"Succeed"}}}`:                                   "/TimeoutSeconds",
	`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"B":{"Type":"Succeed"}}}`:                               "/States/B",
	`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"` + strings.Repeat("n", 81) + `":{"Type":"Succeed"}}}`: "/States/" + strings.Repeat("n", 81),
	stateMachine(`"Type":"Pass","Next":"Q"`):                                                                 "/States/A/Next",
	stateMachine(`"Type":"Pass"`):                                                                            "/States/A",
	stateMachine(`"Type":"Pass","Next":"A","End":true`):                                                      "/States/A",
	stateMachine(`"Type":"Pass","End":false`):                                                                "/States/A/End",
	stateMachine(`"Type":"Nope","End":true`):                                                                 "/States/A/Type",
	stateMachine(`"End":true`):                                                                               "/States/A",
	stateMachine(`"Type":"Pass","End":true,"QueryLanguage":"JSONata"`):                                       "/States/A/QueryLanguage",
	stateMachine(`"Type":"Pass","End":true,"Assign":{}`):                                                     "/States/A/Assign",
	stateMachine(`"Type":"Pass","End":true,"Output":{}`):                                                     "/States/A/Output",
	stateMachine(`"Type":"Pass","End":true,"Retry":[]`):                                                      "/States/A/Retry",
	stateMachine(`"Type":"Pass","End":true,"InputPath":"$.a.length()"`):                                      "/States/A/InputPath",
	stateMachine(`"Type":"Pass","End":true,"InputPath":"a"`):                                                 "/States/A/InputPath",
	stateMachine(`"Type":"Pass","End":true,"InputPath":1`):                                                   "/States/A/InputPath",
	stateMachine(`"Type":"Pass","End":true,"OutputPath":"$.a[?(@.b =~ /x/)]"`):                               "/States/A/OutputPath",
	stateMachine(`"Type":"Pass","End":true,"ResultPath":"$.a[*]"`):                                           "/States/A/ResultPath",
	stateMachine(`"Type":"Pass","End":true,"ResultPath":"$$.x"`):                                             "/States/A/ResultPath",
	stateMachine(`"Type":"Pass","End":true,"Parameters":{"a~/b.$":"x"}`):                                     "/States/A/Parameters/a~0~1b.$",
	stateMachine(`"Type":"Pass","End":true,"Parameters":{"l":[{"a.$":"States.Nope()"}]}`):                    "/States/A/Parameters/l/0/a.$",
	stateMachine(`"Type":"Pass","End":true,"Parameters":{"a.$":"States.UUID(1)"}`):                           "/States/A/Parameters/a.$",
	stateMachine(`"Type":"Pass","End":true,"Parameters":{"a.$":1}`):                                          "/States/A/Parameters/a.$",
	stateMachine(`"Type":"Pass","End":true,"Parameters":{"a.$":"$.x","a":1}`):                                "/States/A/Parameters/a",
	stateMachine(`"Type":"Task","End":true`):                                                                 "/States/A",
	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","End":true`):                   "/States/A/Resource",
	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.sync","End":true`):                "/States/A/Resource",
	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","End":true`):                     "/States/A",
	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{},"End":true`):     "/States/A/Parameters",

	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","Log":"Tail"},"End":true`): "/States/A/Parameters/Log",

	stateMachine(`"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":"f","InvocationType":"Later"},"End":true`): "/States/A/Parameters/InvocationType",

	stateMachine(taskState + `,"TimeoutSeconds":0`):                                                                                                "/States/A/TimeoutSeconds",
	stateMachine(taskState + `,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.x"`):                                                                     "/States/A",
	stateMachine(taskState + `,"TimeoutSeconds":5,"HeartbeatSeconds":5`):                                                                           "/States/A/HeartbeatSeconds",
	stateMachine(taskState + `,"Credentials":{}`):                                                                                                  "/States/A/Credentials",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":[]}]`):                                                                                      "/States/A/Retry/0/ErrorEquals",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["States.ALL","X"]}]`):                                                                      "/States/A/Retry/0/ErrorEquals",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["States.ALL"]},{"ErrorEquals":["X"]}]`):                                                    "/States/A/Retry/0/ErrorEquals",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"BackoffRate":0.5}]`):                                                                 "/States/A/Retry/0/BackoffRate",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"IntervalSeconds":-1}]`):                                                              "/States/A/Retry/0/IntervalSeconds",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"MaxAttempts":-1}]`):                                                                  "/States/A/Retry/0/MaxAttempts",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"MaxDelaySeconds":0}]`):                                                               "/States/A/Retry/0/MaxDelaySeconds",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"JitterStrategy":"SOME"}]`):                                                           "/States/A/Retry/0/JitterStrategy",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"Backoff":1}]`):                                                                       "/States/A/Retry/0/Backoff",
	stateMachine(taskState + `,"Catch":[{"ErrorEquals":["X"],"Next":"Q"}]`):                                                                        "/States/A/Catch/0/Next",
	stateMachine(taskState + `,"Catch":[{"ErrorEquals":["X"]}]`):                                                                                   "/States/A/Catch/0",
	stateMachine(taskState + `,"Catch":{}`):                                                                                                        "/States/A/Catch",
	stateMachine(`"Type":"Wait","End":true`):                                                                                                       "/States/A",
	stateMachine(`"Type":"Wait","End":true,"Seconds":1,"Timestamp":"2020-01-01T00:00:00Z"`):                                                        "/States/A",
	stateMachine(`"Type":"Wait","End":true,"Seconds":-1`):                                                                                          "/States/A/Seconds",
	stateMachine(`"Type":"Wait","End":true,"Timestamp":"2020-01-01"`):                                                                              "/States/A/Timestamp",
	stateMachine(`"Type":"Wait","End":true,"SecondsPath":"$.a[*]"`):                                                                                "/States/A/SecondsPath",
	stateMachine(`"Type":"Fail","Error":"a","ErrorPath":"$.a"`):                                                                                    "/States/A",
	stateMachine(`"Type":"Fail","CausePath":"nope"`):                                                                                               "/States/A/CausePath",
	stateMachine(`"Type":"Fail","End":true`):                                                                                                       "/States/A/End",
	stateMachine(`"Type":"Succeed","Next":"A"`):                                                                                                    "/States/A/Next",
	stateMachine(`"Type":"Choice","Choices":[]`):                                                                                                   "/States/A/Choices",
	choiceMachine(`{"Variable":"$.a","NumericEquals":1,"Next":"Q"},{"Variable":"$.a","NumericEquals":1,"Next":"B"}`):                               "/States/A/Choices/0/Next",
	choiceMachine(`{"Variable":"$.a","NumericEquals":"1","Next":"B"}`):                                                                             "/States/A/Choices/0/NumericEquals",
	choiceMachine(`{"Variable":"$.a","NumericNotEquals":1,"Next":"B"}`):                                                                            "/States/A/Choices/0/NumericNotEquals",
	choiceMachine(`{"Variable":"$.a","NumericEquals":1,"StringEquals":"a","Next":"B"}`):                                                            "/States/A/Choices/0",
	choiceMachine(`{"Variable":"$.a","BooleanLessThan":true,"Next":"B"}`):                                                                          "/States/A/Choices/0/BooleanLessThan",
	choiceMachine(`{"Variable":"$.a","TimestampEquals":"x","Next":"B"}`):                                                                           "/States/A/Choices/0/TimestampEquals",
	choiceMachine(`{"NumericEquals":1,"Next":"B"}`):                                                                                                "/States/A/Choices/0",
	choiceMachine(`{"And":[{"Variable":"$.a","IsNull":"x"}],"Next":"B"}`):                                                                          "/States/A/Choices/0/And/0/IsNull",
	choiceMachine(`{"And":[{"Variable":"$.a","IsNull":true,"Next":"B"}],"Next":"B"}`):                                                              "/States/A/Choices/0/And/0",
	choiceMachine(`{"Condition":"{% true %}","Next":"B"}`):                                                                                         "/States/A/Choices/0/Condition",
	choiceMachine(`{"Variable":"$.a","NumericEquals":1}`):                                                                                          "/States/A/Choices/0",
	stateMachine(`"Type":"Parallel","Branches":[],"End":true`):                                                                                     "/States/A/Branches",
	stateMachine(`"Type":"Parallel","Branches":[{"StartAt":"X"}],"End":true`):                                                                      "/States/A/Branches/0",
	stateMachine(`"Type":"Parallel","Branches":[{"StartAt":"X","States":{"X":{"Type":"Pass","Next":"A"}}}],"End":true`):                            "/States/A/Branches/0/States/X/Next",
	stateMachine(`"Type":"Parallel","Branches":[{"StartAt":"A","States":{"A":{"Type":"Succeed"}}}],"End":true`):                                    "/States/A/Branches/0/States/A",
	stateMachine(mapState + `,"ToleratedFailureCount":1`):                                                                                          "/States/A/ToleratedFailureCount",
	stateMachine(mapState + `,"ToleratedFailurePercentage":1`):                                                                                     "/States/A/ToleratedFailurePercentage",
	stateMachine(mapState + `,"ItemReader":{}`):                                                                                                    "/States/A/ItemReader",
	stateMachine(mapState + `,"ItemBatcher":{}`):                                                                                                   "/States/A/ItemBatcher",
	stateMachine(mapState + `,"Label":"x"`):                                                                                                        "/States/A/Label",
	stateMachine(mapState + `,"ItemsPath":"$.a[*]"`):                                                                                               "/States/A/ItemsPath",
	stateMachine(mapState + `,"MaxConcurrency":-1`):                                                                                                "/States/A/MaxConcurrency",
	stateMachine(`"Type":"Map","End":true,"ItemProcessor":{"QueryLanguage":"JSONPath","StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}`):   "/States/A/ItemProcessor/QueryLanguage",
	stateMachine(`"Type":"Parallel","Branches":[{"QueryLanguage":"JSONPath","StartAt":"X","States":{"X":{"Type":"Pass","End":true}}}],"End":true`): "/States/A/Branches/0/QueryLanguage",
	stateMachine(taskState + `,"Retry":[{"ErrorEquals":["X"],"MaxDelaySeconds":31622401}]`):                                                        "/States/A/Retry/0/MaxDelaySeconds",
	stateMachine(mapState + `,"Iterator":` + innerMap):                                                                                             "/States/A",
	stateMachine(`"Type":"Map","End":true`):                                                                                                        "/States/A",
	stateMachine(`"Type":"Map","End":true,"ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},"StartAt":"I","States":{"I":{"Type":"Pass","End":true}}}`): "/States/A/ItemProcessor/ProcessorConfig/Mode",
}

func TestUnsupportedDefinitionsAreRefusedWithTheirPointer(t *testing.T) {
	for definition, at := range unsupported {
		_, err := Parse([]byte(definition))
		var bad *DefinitionError
		if !errors.As(err, &bad) {
			t.Errorf("accepted: %s", definition)
			continue
		}
		found := false
		for _, d := range bad.Diagnostics {
			found = found || d.Location == at
		}
		if !found {
			t.Errorf("%s\n\tfindings %v, want one at %s", definition, bad, at)
		}
	}
}

// TestRefusalsAreWordedAsAWS compares the errors with recorded errors of AWS.
func TestRefusalsAreWordedAsAWS(t *testing.T) {
	for definition, want := range map[string]string{
		`{"StartAt":"A","States":{"A":{"Type":"Pass","Next":"B"},"B":{"Type":"Pass","Next":"A"}}}`: "MISSING_END_STATE: Workflow has no terminal state at null",
		`{"StartAt":"X","States":{"A":{"Type":"Pass","End":true}}}`:                                "MISSING_TRANSITION_TARGET: Missing 'Next' target: X at /StartAt, MISSING_TRANSITION_TARGET: State \"A\" is not reachable. at /States/A",
		stateMachine(`"Type":"Pass","End":true,"Next":"A"`):                                        "SCHEMA_VALIDATION_FAILED: There should only be one of the following fields: [Next, End] at /States/A",
		stateMachine(`"Type":"Pass"`):                                                              "SCHEMA_VALIDATION_FAILED: This object should have only one of the following fields: [Next, End] at /States/A",
		stateMachine(`"Type":"Wait","Seconds":-1,"End":true`):                                      "SCHEMA_VALIDATION_FAILED: Minimum value is 0 at /States/A/Seconds",
		stateMachine(taskState + `,"Retry":[{"ErrorEquals":["States.ALL","X"]}]`):                  "SCHEMA_VALIDATION_FAILED: States.ALL must appear alone and at end of list at /States/A/Retry/0/ErrorEquals",
		stateMachine(taskState + `,"TimeoutSeconds":1,"TimeoutSecondsPath":"$.t"`):                 "SCHEMA_VALIDATION_FAILED: There should only be one of the following fields: [TimeoutSeconds, TimeoutSecondsPath] at /States/A",
		stateMachine(`"Type":"Pass","Output":1,"End":true`):                                        "SCHEMA_VALIDATION_FAILED: The QueryLanguage is set to 'JSONPath', but field 'Output' is only supported for the 'JSONata' QueryLanguage at /States/A/Output",
		stateMachine(`"Type":"Pass","QueryLanguage":"jsonata","End":true`):                         "SCHEMA_VALIDATION_FAILED: Value should be one of the following: [JSONPath, JSONata] at /States/A/QueryLanguage",
	} {
		if _, err := Parse([]byte(definition)); err == nil || err.Error() != want {
			t.Errorf("%s\n\t%v, want\n\t%s", definition, err, want)
		}
	}
}

func TestDuplicateKeysInDefinitionsAreRefused(t *testing.T) {
	_, err := Parse([]byte(`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"A":{"Type":"Succeed"}}}`))
	if err == nil || !strings.Contains(err.Error(), "INVALID_JSON_DESCRIPTION: duplicate field 'A'") {
		t.Error(err)
	}
}

func TestEveryCaseDefinitionLoads(t *testing.T) {
	for _, c := range loadCases(t) {
		if _, err := Parse([]byte(c.DefinitionText(""))); (err != nil) != (c.Refused != "") {
			t.Errorf("%s: %v", c.ID(), err)
		}
	}
}
