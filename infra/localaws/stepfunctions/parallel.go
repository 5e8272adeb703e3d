package stepfunctions

// parallel starts every branch with the state's parameters.
func (t *transition) parallel(th *thread, st *state, input *document) {
	input, f := th.applyTemplate(st.parameters, input)
	if f != nil {
		t.handleFailure(th, st, f)
		return
	}
	t.step(th, "ParallelStateStarted", detail{})
	th.count, th.limit, th.begun, th.done = len(st.branches), len(st.branches), len(st.branches), 0
	t.block(th, phaseChildren)
	for i, branch := range st.branches {
		t.spawn(th, branch, i, input, nil)
	}
}

// finishChild records the end of a branch or item; the last one ends the state.
func (t *transition) finishChild(child *thread) {
	th := child.up
	st := th.scope.states[th.state]
	th.done++ // not written: a restart counts the finished children
	last := child.prev
	if st.kind == typeMap {
		side := t.record("MapIterationSucceeded", child.prev, iterationDetail("mapIterationSucceededEventDetails", st.name, child.index))
		if th.done == th.count {
			last = side
		} else {
			t.nextItems(th, st, child.prev)
		}
	}
	if th.done == th.count && t.end == nil {
		th.prev = last
		t.join(th, st)
	}
}

// join leaves a Map or Parallel state with the outputs of its children.
func (t *transition) join(th *thread, st *state) {
	t.record(string(st.kind)+"StateSucceeded", th.prev, detail{})
	if t.end != nil {
		return
	}
	text := []byte{'['}
	outputs := make([][]byte, th.count)
	for _, child := range th.children {
		outputs[child.index] = child.output
		t.drop(child)
	}
	for i, output := range outputs {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, output...)
	}
	th.phase, th.children = phaseReady, nil
	t.succeed(th, st, textDocument(append(text, ']')))
}

// failChild stops the other children and fails the state.
func (t *transition) failChild(child *thread, f *failure) {
	th := child.up
	st := th.scope.states[th.state]
	if st.kind == typeMap {
		t.record("MapIterationFailed", child.prev, iterationDetail("mapIterationFailedEventDetails", st.name, child.index))
	}
	t.abort(child, child.prev)
	t.abortChildren(th, st, child, child.prev)
	if t.end != nil {
		return
	}
	th.prev = child.prev
	t.touch(th)
	g := *f
	g.branch = st.kind == typeParallel
	t.handleFailure(th, st, &g)
}

// abortChildren aborts the children that are not done, but not the failed one, and drops all.
func (t *transition) abortChildren(th *thread, st *state, failed *thread, prev uint64) {
	for _, child := range th.children {
		if child == failed || child.phase == phaseDone {
			continue
		}
		if st.kind == typeMap {
			t.record("MapIterationAborted", prev, iterationDetail("mapIterationAbortedEventDetails", st.name, child.index))
		}
		t.abort(child, prev)
	}
	for _, child := range th.children {
		t.drop(child)
	}
	th.children = nil
}

// abort records that the state of a thread was aborted, and the states below it.
func (t *transition) abort(th *thread, prev uint64) {
	for _, child := range th.children {
		if child.phase != phaseDone {
			t.abort(child, prev)
		}
	}
	if th.enteredID == 0 {
		return
	}
	switch kind := th.scope.states[th.state].kind; kind {
	case typeTask, typeWait, typeMap, typeParallel:
		t.record(string(kind)+"StateAborted", prev, detail{})
	}
}
