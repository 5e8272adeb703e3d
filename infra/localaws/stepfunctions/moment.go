package stepfunctions

import "bytes"

// momentOf names a transition for the crash tests: the state of the newest thread that moved, and the
// last event; "Execution" after its end.
func momentOf(t *transition) string {
	state := "Execution"
	if list := byID(t.dirty); len(list) > 0 && t.end == nil {
		state = list[len(list)-1].state
	}
	if len(t.events) == 0 {
		return state + ".Moved"
	}
	_, kind, _ := bytes.Cut(t.events[len(t.events)-1], []byte(`"type":"`))
	kind, _, _ = bytes.Cut(kind, []byte(`"`))
	return state + "." + string(kind)
}
