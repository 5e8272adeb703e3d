package openapi

// usablePattern reports whether RE2 can compile a pattern and it is small: matching is then linear in the text.
// Each pattern is checked once.
func (b *bundle) usablePattern(p string) bool {
	if known, ok := b.patterns[p]; ok {
		return known
	}
	ok := b.programs.Usable(p)
	if len(b.patterns) < 10_000 {
		b.patterns[p] = ok
	}
	return ok
}
