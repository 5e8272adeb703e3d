package stepfunctions

import (
	"fmt"
	"strings"
)

// maxNodes bounds the nodes that an indefinite path may select or visit.
const maxNodes = 1 << 20

// selectFrom applies p to data. A definite path returns its node, or an error that wraps errPath;
// any other path returns the list of its matches, which may be empty.
func (p *path) selectFrom(data any) (any, error) {
	if p.definite {
		return p.selectOne(data)
	}
	if s := &p.segments[0]; s.kind == segmentSlice && !s.descend {
		if _, ok := data.([]any); !ok { // as recorded: only below the root it selects nothing
			return nil, fmt.Errorf("%w: No results for path: %s", errPath, p.source)
		}
	}
	nodes := []any{data}
	budget := maxNodes
	for i := range p.segments {
		var err error
		if nodes, err = p.segments[i].apply(nodes, data, &budget); err != nil {
			return nil, fmt.Errorf("%w: %w", errPath, err)
		}
	}
	if nodes == nil {
		nodes = []any{}
	}
	return nodes, nil
}

// selectOne follows names and indexes to a single node.
func (p *path) selectOne(data any) (any, error) {
	node := data
	for i := range p.segments {
		s := &p.segments[i]
		next, ok := s.child(node)
		if !ok {
			return nil, p.missingError(i, node)
		}
		node = next
	}
	return node, nil
}

// child follows a single name or index.
func (s *segment) child(node any) (any, bool) {
	switch v := node.(type) {
	case object:
		if s.kind == segmentNames {
			return v.get(s.names[0])
		}
	case []any:
		if s.kind == segmentIndexes {
			if at, ok := position(s.indexes[0], len(v)); ok {
				return v[at], true
			}
		}
	}
	return nil, false
}

// missingError returns AWS's error for a definite path that fails at segment i.
func (p *path) missingError(i int, node any) error {
	where := p.canonical(i + 1)
	switch node.(type) {
	case nil:
		if i == 0 && !p.context {
			return errNullInput
		}
	case object:
		if i < len(p.segments)-1 && p.segments[i].kind == segmentNames {
			return fmt.Errorf("%w: Missing property in path %s", errPath, where)
		}
	case []any:
		if p.segments[i].kind == segmentIndexes {
			err := fmt.Errorf("%w: Index out of bounds when evaluating path %s", errPath, where)
			if i == len(p.segments)-1 {
				return pastEndError{err}
			}
			return err
		}
	}
	return fmt.Errorf("%w: No results for path: %s", errPath, p.canonical(len(p.segments)))
}

// canonical renders the first n segments in bracket notation.
func (p *path) canonical(n int) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range p.segments[:n] {
		if s.kind == segmentNames {
			fmt.Fprintf(&b, "['%s']", s.names[0])
			continue
		}
		fmt.Fprintf(&b, "[%d]", s.indexes[0])
	}
	return b.String()
}

func position(index, length int) (int, bool) {
	if index < 0 {
		index += length
	}
	return index, index >= 0 && index < length
}

func (s *segment) apply(nodes []any, root any, budget *int) ([]any, error) {
	var out []any
	for _, node := range nodes {
		var err error
		if s.descend {
			out, err = s.applyBelow(out, node, root, budget)
		} else {
			out, err = s.applyTo(out, node, root, budget)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func spend(budget *int, n int) error {
	if *budget -= n; *budget < 0 {
		return fmt.Errorf("path visits more than %d nodes", maxNodes)
	}
	return nil
}

// applyBelow applies the selector to node and to everything under it.
func (s *segment) applyBelow(out []any, node, root any, budget *int) ([]any, error) {
	out, err := s.applyTo(out, node, root, budget)
	if err != nil {
		return nil, err
	}
	switch v := node.(type) {
	case object:
		for i := range v {
			if out, err = s.applyBelow(out, v[i].val, root, budget); err != nil {
				return nil, err
			}
		}
	case []any:
		for _, item := range v {
			if out, err = s.applyBelow(out, item, root, budget); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s *segment) applyTo(out []any, node, root any, budget *int) ([]any, error) {
	if err := spend(budget, 1); err != nil {
		return nil, err
	}
	switch s.kind {
	case segmentNames:
		if obj, ok := node.(object); ok {
			for _, name := range s.names {
				if v, ok := obj.get(name); ok {
					out = append(out, v)
				}
			}
		}
	case segmentIndexes:
		if list, ok := node.([]any); ok {
			for _, i := range s.indexes {
				if at, ok := position(i, len(list)); ok {
					out = append(out, list[at])
				}
			}
		}
	case segmentSlice:
		if list, ok := node.([]any); ok {
			from, to := s.bounds(len(list))
			for i := from; i < to; i += s.step {
				out = append(out, list[i])
			}
		}
	case segmentWildcard, segmentFilter:
		return s.applyChildren(out, node, root, budget)
	}
	return out, nil
}

func (s *segment) bounds(length int) (from, to int) {
	clamp := func(bound *int, open int) int {
		if bound == nil {
			return open
		}
		i := *bound
		if i < 0 {
			i += length
		}
		return min(max(i, 0), length)
	}
	return clamp(s.from, 0), clamp(s.to, length)
}

// applyChildren selects the children of node: all of them, or those that pass
// the filter. A filter on an object tests the object itself, as Jayway does.
func (s *segment) applyChildren(out []any, node, root any, budget *int) ([]any, error) {
	keep := func(v any) error {
		if err := spend(budget, 1); err != nil {
			return err
		}
		if s.kind == segmentWildcard || s.filter.test(v, root) {
			out = append(out, v)
		}
		return nil
	}
	switch v := node.(type) {
	case []any:
		for _, item := range v {
			if err := keep(item); err != nil {
				return nil, err
			}
		}
	case object:
		if s.kind == segmentFilter {
			return out, keep(v)
		}
		for i := range v {
			if err := keep(v[i].val); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// assign returns data with the node at the reference path p replaced by v. It creates missing
// objects on the way. It fails when another type is on the way, or when an index is out of range.
func (p *path) assign(data, v any) (any, error) {
	return assignAt(p, 0, data, v)
}

func assignAt(p *path, i int, node, v any) (any, error) {
	if i == len(p.segments) {
		return v, nil
	}
	s := &p.segments[i]
	if s.kind == segmentIndexes {
		list, ok := node.([]any)
		at := s.indexes[0]
		if !ok || at >= len(list) {
			return nil, errPath
		}
		child, err := assignAt(p, i+1, list[at], v)
		if err != nil {
			return nil, err
		}
		out := append([]any(nil), list...)
		out[at] = child
		return out, nil
	}
	obj, ok := node.(object)
	if !ok {
		return nil, errPath
	}
	old, ok := obj.get(s.names[0])
	if !ok {
		old = object{}
	}
	child, err := assignAt(p, i+1, old, v)
	if err != nil {
		return nil, err
	}
	return obj.with(s.names[0], child), nil
}
