package stepfunctions

import "time"

var zeroTime time.Time

// timestamp writes a time in the format of the context object and of status change events.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// context builds the context object ($$) as the thread sees it.
func (th *thread) context() any {
	x := th.x
	out := object{
		{"Execution", object{
			{"Id", x.record.ARN},
			{"Input", x.input.Value()},
			{"Name", x.record.Name},
			{"RoleArn", x.record.RoleARN},
			{"StartTime", timestamp(fromNanos(x.record.Start))},
			{"RedriveCount", number(0)},
		}},
		{"StateMachine", object{{"Id", x.record.MachineARN}, {"Name", x.record.Machine}}},
		{"State", object{
			{"Name", th.state},
			{"EnteredTime", timestamp(th.entered)},
			{"RetryCount", number(th.retryCount)},
		}},
	}
	for up := th; up != nil; up = up.up {
		if up.item != nil {
			out = append(out, member{"Map", mapContext(up.index, textDocument(up.item).Value())})
			break
		}
	}
	if th.token != "" {
		out = append(out, member{"Task", object{{"Token", th.token}}})
	}
	return out
}

func mapContext(index int, value any) object {
	return object{{"Item", object{{"Index", number(index)}, {"Value", value}}}}
}
