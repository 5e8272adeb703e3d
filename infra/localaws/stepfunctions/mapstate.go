package stepfunctions

// startMap selects the items and starts as many as may run at once.
func (t *transition) startMap(th *thread, st *state, input *document) {
	items, f := th.items(st, input)
	if f == nil {
		th.limit, f = th.concurrency(st, input)
	}
	if f != nil {
		t.handleFailure(th, st, th.withLocation(f))
		return
	}
	t.step(th, "MapStateStarted", detail{"mapStateStartedEventDetails", object{{"length", number(len(items))}}})
	th.count, th.begun, th.done = len(items), 0, 0
	t.block(th, phaseChildren)
	if len(items) == 0 {
		t.join(th, st)
		return
	}
	t.nextItems(th, st, th.prev)
}

// items returns the value that ItemsPath selects; it must be an array.
func (th *thread) items(st *state, input *document) ([]any, *failure) {
	p := st.mapping.itemsPath
	from := input.Value()
	if p.context {
		from = th.context()
	}
	v, err := p.selectFrom(from)
	if err != nil {
		return nil, pathFailure(p, err)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, runtimeFailure("Reference path \"%s\" must point to array.", p.source)
	}
	return list, nil
}

func (th *thread) concurrency(st *state, input *document) (int, *failure) {
	limit, f := th.secondsOf("MaxConcurrencyPath", seconds{
		value: st.mapping.maxConcurrency, path: st.mapping.concurrencyPath,
	}, input, 0)
	if limit == 0 || limit > maxInlineConcurrency {
		limit = maxInlineConcurrency
	}
	return limit, f
}

// nextItems starts items while there is room; each begins after event prev.
func (t *transition) nextItems(th *thread, st *state, prev uint64) {
	if th.begun == th.count || th.begun-th.done >= th.limit {
		return
	}
	input, f := th.effectiveInput(st)
	var list []any
	if f == nil {
		list, f = th.items(st, input)
	}
	for f == nil && t.end == nil && th.begun < th.count && th.begun-th.done < th.limit {
		index := th.begun
		th.begun++
		var doc *document
		if doc, f = th.itemInput(st, input, index, list[index]); f == nil {
			child := t.spawn(th, st.mapping.processor, index, doc, encodeValue(list[index]))
			child.prev = t.record("MapIterationStarted", prev, iterationDetail("mapIterationStartedEventDetails", st.name, index))
		}
	}
	if f != nil {
		t.failItem(th, st, f)
	}
}

// itemInput returns the item, or the value that ItemSelector computes for it.
func (th *thread) itemInput(st *state, input *document, index int, item any) (*document, *failure) {
	if st.mapping.itemSelector == nil {
		return valueDocument(item), nil
	}
	ctx := th.context().(object).with("Map", mapContext(index, item))
	v, err := st.mapping.itemSelector.fill(input.Value(), ctx)
	if err != nil {
		return nil, th.withLocation(templateFailure(err, input))
	}
	return valueDocument(v), nil
}

// failItem fails the Map state because the input of an item could not be computed.
func (t *transition) failItem(th *thread, st *state, f *failure) {
	if f.final && !f.isHandled(th) {
		t.failThread(th, f)
		return
	}
	t.abortChildren(th, st, nil, th.prev)
	t.handleFailure(th, st, f)
}
