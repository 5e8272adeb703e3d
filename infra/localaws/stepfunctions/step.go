package stepfunctions

import "fmt"

// enter enters the thread's state and runs it until it waits.
func (t *transition) enter(th *thread) {
	st := th.scope.states[th.state]
	th.entered = t.now
	th.retries, th.retryCount = nil, 0
	th.enteredID = t.step(th, string(st.kind)+"StateEntered", enteredDetail(st.name, th.input.Text()))
	if t.end == nil {
		t.execute(th, st)
	}
}

// execute runs the state that the thread has entered, or tries it again.
func (t *transition) execute(th *thread, st *state) {
	input, f := th.effectiveInput(st)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	switch st.kind {
	case typePass:
		t.pass(th, st, input)
	case typeTask:
		t.task(th, st, input)
	case typeChoice:
		t.choose(th, st, input)
	case typeWait:
		t.wait(th, st, input)
	case typeSucceed:
		t.leave(th, st, input)
	case typeFail:
		t.failThread(th, th.stated(st, input))
	case typeParallel:
		t.parallel(th, st, input)
	case typeMap:
		t.startMap(th, st, input)
	}
}

// effectiveInput applies InputPath.
func (th *thread) effectiveInput(st *state) (*document, *failure) {
	return th.applySelection(st.input, th.input)
}

// applySelection applies InputPath or OutputPath to a document.
func (th *thread) applySelection(sel selection, doc *document) (*document, *failure) {
	switch {
	case sel.null:
		return textDocument([]byte("{}")), nil
	case sel.path == nil || sel.path.isRoot():
		return doc, nil
	}
	from := doc.Value
	if sel.path.context {
		from = func() any { return th.context() }
	}
	v, err := sel.path.selectFrom(from())
	if err != nil {
		return nil, th.withLocation(pathFailure(sel.path, err))
	}
	return valueDocument(v), nil
}

// withLocation adds the location to a failure of the interpreter.
func (th *thread) withLocation(f *failure) *failure {
	g := *f
	g.cause = fmt.Sprintf("An error occurred while executing the state '%s' (entered at the event id #%d). %s",
		th.state, th.enteredID, f.cause)
	return &g
}

// applyTemplate applies a payload template; without one the document is unchanged.
func (th *thread) applyTemplate(tmpl *template, doc *document) (*document, *failure) {
	if tmpl == nil {
		return doc, nil
	}
	v, err := tmpl.fill(doc.Value(), th.context())
	if err != nil {
		return nil, th.withLocation(templateFailure(err, doc))
	}
	return valueDocument(v), nil
}

func (t *transition) pass(th *thread, st *state, input *document) {
	result, f := th.applyTemplate(st.parameters, input)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	if st.literal {
		result = valueDocument(st.result)
	}
	t.succeed(th, st, result)
}

func (t *transition) choose(th *thread, st *state, input *document) {
	data, context := input.Value(), th.context()
	next := st.fallback
	for i := range st.choices {
		ok, f := st.choices[i].when.holds(data, context)
		if f != nil {
			t.handleFailure(th, st, th.withLocation(f))
			return
		}
		if ok {
			next = st.choices[i].next
			break
		}
	}
	if next == "" {
		t.handleFailure(th, st, th.withLocation(&failure{
			name: errNoChoiceMatched, cause: "Failed to transition out of the state. The state does not point to a next state.",
		}))
		return
	}
	output, f := th.applySelection(st.output, input)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.exit(th, st, output, next)
}

// stated returns the failure of a Fail state, or that of its ErrorPath or CausePath.
func (th *thread) stated(st *state, input *document) *failure {
	f := &failure{name: st.fail.err, cause: st.fail.cause}
	for _, field := range []struct {
		name string
		expr *expression
		to   *string
	}{{"ErrorPath", st.fail.errPath, &f.name}, {"CausePath", st.fail.causePath, &f.cause}} {
		if field.expr == nil {
			continue
		}
		text, failed := th.evaluateText(field.name, field.expr, input)
		if failed != nil {
			return failed
		}
		*field.to = text
	}
	return f
}

// evaluateText evaluates ErrorPath or CausePath, which must give a string.
func (th *thread) evaluateText(field string, e *expression, input *document) (string, *failure) {
	v, err := e.evaluate(input.Value(), th.context())
	if err != nil {
		if e.path != nil {
			err = &fieldError{field: field, source: e.source, err: err}
		}
		return "", th.withLocation(templateFailure(err, input))
	}
	s, ok := v.(string)
	if !ok {
		return "", th.withLocation(runtimeFailure(
			"The %s parameter '%s' does not reference a string value", field, e.source))
	}
	return s, nil
}

// succeed takes the result of a state through ResultSelector, ResultPath and
// OutputPath and leaves the state.
func (t *transition) succeed(th *thread, st *state, result *document) {
	result, f := th.applyTemplate(st.resultSelector, result)
	if f == nil {
		result, f = th.mergeResult(st.resultPath, result)
	}
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.leave(th, st, result)
}

// mergeResult puts a result into the state's input at ResultPath; nil drops it.
func (th *thread) mergeResult(at *path, result *document) (*document, *failure) {
	switch {
	case at == nil:
		return th.input, nil
	case at.isRoot():
		return result, nil
	}
	v, err := at.assign(th.input.Value(), result.Value())
	if err != nil {
		return nil, th.withLocation(&failure{
			name:  errResultPath,
			cause: fmt.Sprintf("Unable to apply ReferencePath %s to input %s", at.source, th.input.Text()),
		})
	}
	return valueDocument(v), nil
}

// leave applies OutputPath and continues with the next state.
func (t *transition) leave(th *thread, st *state, output *document) {
	output, f := th.applySelection(st.output, output)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.exit(th, st, output, st.next)
}

// exit leaves the state with its output for next, or for the end of the scope.
func (t *transition) exit(th *thread, st *state, output *document, next string) {
	if len(output.Text()) > maxPayload {
		t.failThread(th, &failure{
			name: errDataLimit, final: true,
			cause: fmt.Sprintf("The state/task '%s' returned a result with a size exceeding the maximum number of bytes service limit.", st.name),
		})
		return
	}
	t.step(th, string(st.kind)+"StateExited", exitedDetail(st.name, output.Text()))
	th.clear()
	if next == "" {
		t.finishThread(th, output)
		return
	}
	th.state, th.input = next, output
	t.wake(th)
}

// clear resets the fields of the state that the thread leaves or retries.
func (th *thread) clear() {
	th.halt()
	th.payload, th.function, th.manner, th.token, th.beat = nil, "", Manner{}, "", 0
	th.wake, th.timeout, th.heartbeat = zeroTime, zeroTime, zeroTime
	th.count, th.limit, th.begun, th.done = 0, 0, 0, 0
	th.children = nil
}

// handleFailure retries the state, catches its failure, or fails the thread.
func (t *transition) handleFailure(th *thread, st *state, f *failure) {
	if t.end != nil {
		return
	}
	if f.final && !f.isHandled(th) {
		t.failThread(th, f)
		return
	}
	if which, delay, ok := retryDelay(st.retry, th.retries, f); ok {
		for len(th.retries) <= which {
			th.retries = append(th.retries, 0)
		}
		th.retries[which]++
		th.retryCount++
		th.clear()
		th.wake = t.now.Add(delay)
		t.block(th, phaseRetry)
		return
	}
	if th.phase == phaseChildren {
		t.step(th, string(st.kind)+"StateFailed", detail{})
	}
	c := findCatcher(st.catch, f)
	if c == nil {
		t.failThread(th, f)
		return
	}
	f = f.withAlias(c.errors)
	output, failed := th.mergeResult(c.resultPath, valueDocument(f.output()))
	if failed != nil {
		t.failThread(th, failed)
		return
	}
	t.exit(th, st, output, c.next)
}

// finishThread ends a thread with its output.
func (t *transition) finishThread(th *thread, output *document) {
	if t.end != nil {
		return
	}
	if th.up == nil {
		t.finish(&outcome{status: statusSucceeded, output: output.Text()}, th.prev)
		return
	}
	th.output, th.input, th.item = output.Text(), nil, nil
	t.block(th, phaseDone)
	t.finishChild(th)
}

// failThread fails a thread, and with it the state that started it. A final failure without a
// handler ends the execution at once: AWS then reports no failed iteration, no failed state and no
// abort.
func (t *transition) failThread(th *thread, f *failure) {
	if t.end != nil {
		return
	}
	if th.up == nil || f.final && !f.isHandled(th.up) {
		prev := th.prev
		if th.up == nil && prev == th.enteredID && th.scope.states[th.state].kind == typeTask {
			prev = 0 // as AWS does when a task fails before it is scheduled
		}
		t.finish(&outcome{status: statusFailed, err: f.name, cause: f.cause}, prev)
		return
	}
	t.failChild(th, f)
}
