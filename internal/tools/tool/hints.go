package tool

// Hints are a server's statements about the calls of a tool; nil where it makes none. They are not verified: they are
// shown where a person decides, and can raise the risk of a call, never lower it.
type Hints struct {
	ReadOnly    *bool `json:"read_only,omitempty" doc:"it changes nothing"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty" doc:"a repeated call changes nothing more"`
	OpenWorld   *bool `json:"open_world,omitempty" doc:"it reaches others than its server"`
}

func isYes(said *bool) bool { return said != nil && *said }
func isNo(said *bool) bool  { return said != nil && !*said }

// Destroys reports whether the server says that the tool destroys.
func (h Hints) Destroys() bool { return isYes(h.Destructive) }

// Writes reports whether the server says that the tool changes something.
func (h Hints) Writes() bool { return h.Destroys() || isNo(h.ReadOnly) }

// Said names the statements that a person is shown, the riskiest first: destructive, writes, reads, outside,
// repeatable, or else nothing.
func (h Hints) Said() (names []string) {
	for _, one := range []struct {
		name string
		said bool
	}{
		{"destructive", h.Destroys()},
		{"writes", isNo(h.ReadOnly)},
		{"reads", isYes(h.ReadOnly)},
		{"outside", isYes(h.OpenWorld)},
		{"repeatable", isYes(h.Idempotent)},
	} {
		if one.said {
			names = append(names, one.name)
		}
	}
	if len(names) == 0 {
		return []string{"nothing"}
	}
	return names
}
