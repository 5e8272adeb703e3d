package machines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"
)

// A Result is the observed behaviour of a case.
type Result struct {
	Status, Output, Error, Cause string
	Elapsed                      time.Duration
	History                      []string // "id<previous Type"
	Calls                        []Call
}

// Check returns every difference between the result and the case. An execution may end later than
// expected by slack.
func (c *Case) Check(r Result, slack time.Duration) []string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if r.Status != c.Status {
		say("status %s, want %s (error %q: %q)", r.Status, c.Status, r.Error, r.Cause)
	}
	if c.Output != nil {
		if same, err := SameJSON([]byte(r.Output), c.Output); err != nil || !same {
			say("output %s, want %s", r.Output, c.Output)
		}
	}
	if r.Error != c.Error {
		say("error %q, want %q (cause %q)", r.Error, c.Error, r.Cause)
	}
	if c.Cause != nil && r.Cause != *c.Cause {
		say("cause %q, want %q", r.Cause, *c.Cause)
	}
	if !strings.Contains(r.Cause, c.Says) {
		say("cause %q does not say %q", r.Cause, c.Says)
	}
	if c.Calls != nil {
		wrong = append(wrong, c.checkCalls(r.Calls)...)
	}
	if c.Elapsed != nil {
		if want := seconds(*c.Elapsed); r.Elapsed < want-early || r.Elapsed > want+slack {
			say("took %s, want %s", r.Elapsed, want)
		}
	}
	if c.Within != nil && (r.Elapsed < seconds(c.Within[0])-early || r.Elapsed > seconds(c.Within[1])+slack) {
		say("took %s, want between %g and %g s", r.Elapsed, c.Within[0], c.Within[1])
	}
	if c.History != nil && !reflect.DeepEqual(r.History, c.History) {
		say("history\n  %s\nwant\n  %s", strings.Join(r.History, "\n  "), strings.Join(c.History, "\n  "))
	}
	at := 0
	for _, ev := range r.History {
		if at < len(c.Events) && strings.HasSuffix(ev, " "+c.Events[at]) {
			at++
		}
	}
	if at < len(c.Events) {
		say("history\n  %s\nmisses %s", strings.Join(r.History, "\n  "), strings.Join(c.Events[at:], ", "))
	}
	return wrong
}

// early is the time by which an execution may end sooner than expected, because times have
// millisecond precision.
const early = 5 * time.Millisecond

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (c *Case) checkCalls(got []Call) (wrong []string) {
	if len(got) != len(c.Calls) {
		return []string{fmt.Sprintf("%d calls %s, want %d", len(got), calls(got), len(c.Calls))}
	}
	for i, want := range c.Calls {
		same := want.Payload == nil
		if !same {
			same, _ = SameJSON(got[i].Payload, want.Payload)
		}
		if !same || got[i].Function != want.Function || got[i].Qualifier != want.Qualifier || want.Kind != "" && got[i].Kind != want.Kind {
			wrong = append(wrong, fmt.Sprintf("call %d is %s, want %s", i, calls(got[i:i+1]), calls(c.Calls[i:i+1])))
		}
	}
	return wrong
}

func calls(list []Call) string {
	text, err := json.Marshal(list)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// SameJSON compares two documents by their meaning: numbers by value, members in
// any order.
func SameJSON(a, b []byte) (bool, error) {
	x, err := decode(a)
	if err != nil {
		return false, err
	}
	y, err := decode(b)
	return err == nil && reflect.DeepEqual(x, y), err
}

func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return exact(v), nil
}

// exact normalises every number.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok {
			return json.Number(r.RatString())
		}
		return v
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	}
	return v
}
