package openapi

import "slices"

// circles finds the definitions that come back to themselves without a step into
// the value: no value could ever be found valid against one. It is Tarjan's
// algorithm, continued from call to call, so that each definition is visited once.
type circles struct {
	order, low map[string]int
	stack      []string
	in         map[string]bool // in a circle; present once decided
}

func (c *circles) has(name string, next func(string) []string) bool {
	if _, decided := c.in[name]; !decided {
		c.visit(name, next)
	}
	return c.in[name]
}

func (c *circles) visit(name string, next func(string) []string) {
	at := len(c.order) + 1
	c.order[name], c.low[name] = at, at
	c.stack = append(c.stack, name)
	list := next(name)
	for _, n := range list {
		if c.order[n] == 0 {
			c.visit(n, next)
			c.low[name] = min(c.low[name], c.low[n])
		} else if _, decided := c.in[n]; !decided {
			c.low[name] = min(c.low[name], c.order[n])
		}
	}
	if c.low[name] != at {
		return
	}
	from := slices.Index(c.stack, name)
	group := c.stack[from:]
	circle := len(group) > 1 || slices.Contains(list, name)
	for _, n := range group {
		c.in[n] = circle
	}
	c.stack = c.stack[:from]
}
