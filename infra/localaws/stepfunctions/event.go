package stepfunctions

import (
	"encoding/json"
	"strconv"
	"time"
)

// A detail is the details object of a history event, in the order of AWS.
type detail struct {
	field string // such as taskScheduledEventDetails; empty for none
	body  object
}

// encodeEvent writes a history event in the format of GetExecutionHistory.
func encodeEvent(kind string, id, prev uint64, at time.Time, d detail) []byte {
	b := make([]byte, 0, 256)
	b = append(b, `{"timestamp":`...)
	b = append(b, epoch(at)...)
	b = append(b, `,"type":"`...)
	b = append(b, kind...)
	b = append(b, `","id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"previousEventId":`...)
	b = strconv.AppendUint(b, prev, 10)
	if d.field != "" {
		b = append(b, `,"`...)
		b = append(b, d.field...)
		b = append(b, `":`...)
		b = appendValue(b, d.body)
	}
	return append(b, '}')
}

// epoch is a time as AWS JSON writes it: seconds with milliseconds.
func epoch(t time.Time) json.Number {
	ms := t.UnixMilli()
	b := strconv.AppendInt(nil, ms/1000, 10)
	if rest := ms % 1000; rest > 0 {
		b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return json.Number(b)
}

// whole marks a payload in an event as not truncated.
var whole = object{{"truncated", false}}

func inputDetail(field string, input []byte) object {
	return object{{field, string(input)}, {field + "Details", whole}}
}

// errorDetail returns the error and the cause that are not empty.
func errorDetail(name, cause string) object {
	out := object{}
	if name != "" {
		out = append(out, member{"error", name})
	}
	if cause != "" {
		out = append(out, member{"cause", cause})
	}
	return out
}

func enteredDetail(name string, input []byte) detail {
	return detail{"stateEnteredEventDetails", append(object{{"name", name}}, inputDetail("input", input)...)}
}

func exitedDetail(name string, output []byte) detail {
	return detail{"stateExitedEventDetails", append(object{{"name", name}}, inputDetail("output", output)...)}
}

func iterationDetail(field, name string, index int) detail {
	return detail{field, object{{"name", name}, {"index", number(index)}}}
}
