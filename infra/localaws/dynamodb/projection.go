package dynamodb

import "slices"

// parseProjection reads a ProjectionExpression: the paths to return.
func parseProjection(src string, s *scope) ([]path, error) {
	p, err := newParser("ProjectionExpression", src, s)
	if err != nil {
		return nil, err
	}
	var paths []path
	for {
		next, err := p.path()
		if err != nil {
			return nil, err
		}
		for _, earlier := range paths {
			if why := earlier.overlap(next); why != "" {
				p.note(rankOverlap, "%s", why)
			}
		}
		paths = append(paths, next)
		if !p.tokens.takeSign(",") {
			return paths, p.finish()
		}
	}
}

// project returns the values at the paths, in the structure of the item. Lists have only the
// requested elements, in their order, without gaps.
func project(it item, paths []path) item {
	out := item{}
	byHead := map[string][]path{}
	for _, p := range paths {
		if len(p) == 1 {
			if v, ok := it[p[0].name]; ok {
				out[p[0].name] = v
			}
			continue
		}
		byHead[p[0].name] = append(byHead[p[0].name], p[1:])
	}
	for name, rests := range byHead {
		v, ok := it[name]
		if !ok {
			continue
		}
		if picked, ok := pick(v, rests); ok {
			out[name] = picked
		}
	}
	return out
}

// pick returns the part of a document that the paths select.
func pick(v value, paths []path) (value, bool) {
	switch {
	case len(paths[0]) == 0:
		return v, true
	case v.kind == kindM && paths[0][0].index < 0:
		m := project(v.m, paths)
		return value{kind: kindM, m: m}, len(m) > 0
	case v.kind != kindL || paths[0][0].index < 0:
		return value{}, false
	}
	byIndex := map[int][]path{}
	var wanted []int
	for _, p := range paths {
		if byIndex[p[0].index] == nil {
			wanted = append(wanted, p[0].index)
		}
		byIndex[p[0].index] = append(byIndex[p[0].index], p[1:])
	}
	slices.Sort(wanted)
	out := value{kind: kindL}
	for _, i := range wanted {
		if i >= len(v.list) {
			break
		}
		if e, ok := pick(v.list[i], byIndex[i]); ok {
			out.list = append(out.list, e)
		}
	}
	return out, len(out.list) > 0
}
