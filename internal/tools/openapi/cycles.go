package openapi

import "slices"

// cycles finds the definitions that refer back to themselves for the same value: no value could ever be valid
// against one. It is Tarjan's algorithm, continued from call to call, so that each definition is visited once. A
// definition whose chain is longer than maxChain counts as one of them.
type cycles struct {
	order, low map[string]int
	stack      []string
	in         map[string]bool // whether the definition is in a cycle; present once decided
}

const maxChain = 1000

func (c *cycles) has(name string, next func(string) []string) bool {
	if _, decided := c.in[name]; !decided {
		c.visit(name, next)
	}
	return c.in[name]
}

func (c *cycles) visit(name string, next func(string) []string) {
	at := len(c.order) + 1
	c.order[name], c.low[name] = at, at
	from := len(c.stack)
	c.stack = append(c.stack, name)
	list := next(name)
	endless := false
	for _, n := range list {
		if c.order[n] == 0 {
			if len(c.stack) >= maxChain {
				endless = true
				continue
			}
			c.visit(n, next)
			c.low[name] = min(c.low[name], c.low[n])
		} else if _, decided := c.in[n]; !decided {
			c.low[name] = min(c.low[name], c.order[n])
		}
	}
	if c.low[name] != at {
		return
	}
	group := c.stack[from:]
	cyclic := endless || len(group) > 1 || slices.Contains(list, name)
	for _, n := range group {
		c.in[n] = cyclic
	}
	c.stack = c.stack[:from]
}
