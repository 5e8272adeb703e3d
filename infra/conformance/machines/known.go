package machines

import "piloto/infra/conformance/outcome"

// Known lists the cases that moto 5.2.1 is known to fail, and why.
func Known() []outcome.Difference {
	var out []outcome.Difference
	for _, d := range differences {
		for _, name := range d.cases {
			out = append(out, outcome.Difference{Subject: "moto", Name: name, Reason: d.reason})
		}
	}
	return out
}

// differences are grouped by what they come from.
var differences = []struct {
	reason string
	cases  []string
}{
	{"timestamps have no offsets and no fractions", []string{
		`choice/TimestampEquals "2024-01-01T00:00:00Z" of {"v": "2024-01-01T01:00:00+01:00"}`,
		`choice/TimestampLessThanEquals "2024-01-01T00:00:00Z" of {"v": "2024-01-01T00:00:00.000Z"}`,
		`decide/TimestampGreaterThanEqualsPath of "2024-01-01T00:00:00Z" and "2023-01-01T00:00:00+05:00"`,
		`decide/fractions of seconds`,
		`flow/Wait until long ago`,
	}},
	{"patterns know no escapes", []string{
		`choice/StringMatches "a\\*b" of {"v": "a*b"}`,
		`decide/a backslash is matched`,
		`decide/an asterisk beside a wildcard`,
		`decide/other signs are themselves`,
	}},
	{"a path that selects nothing is ignored, or can be caught, and names of errors are lost", []string{
		`choice/no choice matched`,
		`choice/missing variable`,
		`data/ResultPath into a scalar`,
		`data/ResultPath beyond the array`,
		`decide/a missing variable under Not`,
		`decide/IsNull of something missing`,
		`errors/Parameters failure is States.Runtime`,
		`errors/unless ParameterPathFailure is asked for`,
		`map/items are not a list`,
		`map/States.Runtime inside ends all`,
		`map/States.Runtime in an item fails no iteration`,
		`parallel/States.Runtime in a branch's task aborts nothing`,
		`retry/States.NoChoiceMatched is caught outside`,
		`retry/TimeoutSecondsPath of zero`,
		`pipeline/InputPath into null`,
		`pipeline/Parameters into null`,
		`pipeline/ResultPath into null`,
	}},
	{"states are run slowly, and after a failed token a second call waits", []string{
		`choice/loop until counted`,
		`choice/history is bounded`,
		`integration/token failure is retried with a new token`,
	}},
	{"outputs that are strings or null are not told as JSON", []string{
		`data/InputPath context`,
		`data/ResultPathMatchFailure is caught`,
		`decide/the first rule that holds wins`,
		`decide/rules after the one that holds are not looked at`,
		`errors/a late answer is not taken for the next`,
		`integration/heartbeats keep it alive`,
		`lambda/what was executed`,
		`lambda/a string that says null`,
		`lambda/any other string stays one`,
		`lambda/a function returns "x"`,
		`lambda/a function returns null`,
		`lambda/a resource returns null`,
		`lambda/a token goes with an event`,
		`lambda/faults are task failures`,
		`lambda/a function may use any name`,
		`pipeline/the context object whole`,
		`pipeline/inputs of every kind`,
		`pipeline/an input of null`,
		`retry/retries end, the catcher takes over`,
		`retry/another error on a retry goes to its catcher`,
		`retry/States.TaskFailed does not catch time-outs, the next catcher does`,
		`retry/catchers are tried in order`,
		`retry/OutputPath is not applied to what is caught`,
		`retry/a heartbeat does not count while the function runs`,
	}},
	{"causes are worded differently", []string{
		`data/InputPath missing parent`,
		`data/Parameters missing path`,
		`data/Parameters below an index past the end`,
		`functions/fails: the whole expression is named`,
		`functions/fails: an index past the end in a call`,
		`functions/fails: a path into the context in a call`,
		`wait/Fail by missing path`,
	}},
	{"indexes in paths select lists, and filters and the context object are known in part", []string{
		`data/paths: wildcard slice union descent filter`,
		`data/Parameters with an index past the end`,
		`data/Parameters with a slice of no list`,
		`data/Parameters with slices, wildcards and filters of what is missing`,
		`decide/a path of the context`,
		`decide/a number out of a list`,
		`flow/branches of every length`,
		`flow/a Parallel in an item of a Map`,
		`pipeline/context below`,
	}},
	{"Lambda's answers: no metadata, no events, no names of untyped errors and of faults, no largest result; heartbeats have no name of their own", []string{
		`errors/untyped function error`,
		`errors/service fault`,
		`errors/result of the largest size`,
		`integration/token failure`,
		`integration/HeartbeatTimeout is caught by its documented name`,
		`lambda/the whole envelope`,
		`lambda/an event is not waited for`,
		`lambda/an error without a type`,
		`lambda/an error without a type is caught as Lambda.Unknown`,
		`lambda/no such function, as a resource`,
		`retry/a heartbeat missed is retried by its documented name`,
		`retry/a token's failure is caught by its own name`,
	}},
	{"an execution's time-out is the first to be told, and its time is lost", []string{
		`flow/an execution's time-out stops its tasks`,
	}},
	{"functions know ASCII only, no null, no fractions, no descending ranges and few escapes", []string{
		`functions/States.Format('{}{}{}', 1, 2.5, -3)`,
		`functions/States.Format('it\'s')`,
		`functions/States.Array($.a, null, true)`,
		`functions/States.Base64Encode('é')`,
		`functions/States.Base64Decode('w6k=')`,
		`functions/States.ArrayContains(States.Array(7), States.MathRandom(7, 8))`,
		`intrinsic/States.Format('Hi {}, {} {} {}!', $.n, 1, true, null)`,
		`intrinsic/States.Format('\{\} it\'s {} \\', $.n)`,
		`intrinsic/States.ArrayRange(5, 1, -2)`,
		`intrinsic/States.ArrayUnique($.l)`,
		`intrinsic/States.MathAdd($.a, 1.6)`,
	}},
	{"calls that fail report States.Runtime, or do not fail", []string{
		`functions/fails: States.ArrayLength($.x)`,
		`functions/fails: States.ArrayGetItem($.l, -1)`,
		`functions/fails: States.StringSplit($.n, ',')`,
		`functions/fails: States.MathAdd($.s, 1)`,
		`functions/fails: States.ArrayContains($.x, 1)`,
		`functions/fails: States.ArrayRange(1, 5, 0)`,
		`functions/fails: States.MathRandom(5, 5)`,
		`functions/fails: States.JsonMerge($.a, $.b, false)`,
		`functions/fails: States.StringToJson($.n)`,
		`functions/fails: States.Base64Encode($.n)`,
		`functions/fails: States.ArrayUnique($.n)`,
		`functions/fails: States.ArrayPartition($.l, -1)`,
		`functions/fails: States.Hash($.n, 'MD4')`,
		`functions/fails: States.Format('{} {}', 1)`,
		`functions/fails: States.Format('{}', 1, 2)`,
		`functions/fails: a path in a call selects nothing`,
		`functions/States.ALL does not catch a path in a call that selects nothing`,
		`functions/IntrinsicFailure can be caught by States.ALL`,
		`intrinsic/fails: States.StringToJson($.s)`,
		`intrinsic/fails: States.ArrayGetItem($.l, 5)`,
		`intrinsic/fails: States.JsonMerge($.a, $.a, true)`,
		`intrinsic/fails: States.ArrayRange(1, 5000, 1)`,
		`intrinsic/fails: States.ArrayPartition($.l, 0)`,
		`intrinsic/fails: States.Hash('a', 'CRC')`,
		`intrinsic/fails: States.Format('{}')`,
		`intrinsic/fails: States.Base64Decode('%%')`,
		`intrinsic/fails: States.MathAdd('a', 1)`,
		`intrinsic/IntrinsicFailure is caught`,
	}},
	{"an interval of zero is refused", []string{
		`retry/IntervalSeconds 0 retries at once`,
	}},
	{"histories of what runs at once are ordered differently", []string{
		`integration/invoke`,
		`parallel/branches`,
		`parallel/a failure later`,
		`wait/execution time-out`,
	}},
	{"machines that AWS refuses are accepted, or refused without a pointer", []string{
		`refused/*`,
	}},
}
