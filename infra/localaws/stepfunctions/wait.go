package stepfunctions

import "time"

// startWait computes when the Wait state ends and waits.
func (t *transition) startWait(th *thread, st *state, input *document) {
	until, f := t.waitEnd(th, st, input)
	if f != nil {
		t.handleFailure(th, st, t.withLocation(th, f))
		return
	}
	if !until.After(t.now) {
		t.leave(th, st, input)
		return
	}
	th.wake = until
	t.block(th, phaseWait)
}

func (t *transition) waitEnd(th *thread, st *state, input *document) (time.Time, *failure) {
	w := st.wait
	if w.path == nil && w.seconds.path == nil {
		if !w.timestamp.IsZero() {
			return w.timestamp, nil
		}
		return t.now.Add(time.Duration(w.seconds.value) * time.Second), nil
	}
	if w.seconds.path != nil {
		n, f := t.secondsOf(th, "SecondsPath", w.seconds, input, 0)
		return t.now.Add(time.Duration(n) * time.Second), f
	}
	v, ok := resolve(w.path, input.Value(), t.context(th))
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
func (t *transition) secondsOf(th *thread, field string, s seconds, input *document, least int) (int, *failure) {
	if s.path == nil {
		return s.value, nil
	}
	v, ok := resolve(s.path, input.Value(), t.context(th))
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

// endWait leaves the Wait state.
func (t *transition) endWait(th *thread, st *state) {
	input, f := t.effectiveInput(th, st)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.leave(th, st, input)
}
