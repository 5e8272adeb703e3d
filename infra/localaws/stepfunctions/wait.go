package stepfunctions

import "time"

// wait computes when the Wait state ends, and waits; after that it leaves the state.
func (t *transition) wait(th *thread, st *state, input *document) {
	if th.phase == phaseWait {
		t.leave(th, st, input)
		return
	}
	until, f := th.waitEnd(st, input, t.now)
	if f != nil {
		t.handleFailure(th, st, th.withLocation(f))
		return
	}
	if !until.After(t.now) {
		t.leave(th, st, input)
		return
	}
	th.wake = until
	t.block(th, phaseWait)
}

func (th *thread) waitEnd(st *state, input *document, now time.Time) (time.Time, *failure) {
	w := st.wait
	if w.path == nil && w.seconds.path == nil {
		if !w.timestamp.IsZero() {
			return w.timestamp, nil
		}
		return now.Add(time.Duration(w.seconds.value) * time.Second), nil
	}
	if w.seconds.path != nil {
		n, f := th.secondsOf("SecondsPath", w.seconds, input, 0)
		return now.Add(time.Duration(n) * time.Second), f
	}
	v, ok := resolve(w.path, input.Value(), th.context())
	if !ok {
		return zeroTime, missingField("TimestampPath", w.path, input)
	}
	s, _ := v.(string)
	when, err := parseTimestamp(s)
	if err != nil {
		shown := s
		if s == "" {
			shown = string(encodeValue(v))
		}
		return zeroTime, runtimeFailure(
			"The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: %s == %s",
			w.path.source, shown)
	}
	return when, nil
}

func missingField(field string, p *path, input *document) *failure {
	return runtimeFailure("%s '%s'", (&fieldError{field: field, source: p.source}).Error(), encodeValue(input.Value()))
}

// secondsOf returns a number of seconds, given or selected from the input.
func (th *thread) secondsOf(field string, s seconds, input *document, least int) (int, *failure) {
	if s.path == nil {
		return s.value, nil
	}
	v, ok := resolve(s.path, input.Value(), th.context())
	if !ok {
		return 0, missingField(field, s.path, input)
	}
	n, ok := integer(v)
	if !ok || n < least || n > maxSeconds {
		return 0, runtimeFailure("The %s parameter does not reference an integer between %d and %d: %s == %s",
			field, least, maxSeconds, s.path.source, encodeValue(v))
	}
	return n, nil
}
