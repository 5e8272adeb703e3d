package openapi

// usablePattern reports whether RE2 can compile a pattern and it is small: matching is then linear in the text.
// Each pattern is checked once.
func (c *converter) usablePattern(p string) bool {
	if known, ok := c.bundle.patterns[p]; ok {
		return known
	}
	ok := c.bundle.programs.Usable(p)
	if len(c.bundle.patterns) < 10_000 {
		c.bundle.patterns[p] = ok
	}
	return ok
}
