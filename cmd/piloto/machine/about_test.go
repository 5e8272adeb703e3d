package machine

import (
	"strings"
	"testing"

	"piloto/internal/chats/agent"
)

// TestTheToolsSayWhatAsks: what the description of a tool says of a call is what happens to it, in each mode.
func TestTheToolsSayWhatAsks(t *testing.T) {
	calls := []struct {
		tool string
		args args
		what string // the part of the description about such calls
	}{
		{"read_file", args{"path": "a.txt"}, "Each call "},
		{"edit_file", args{"path": "a.txt", "old_str": "dos", "new_str": "tres"}, "Each change "},
		{"run_command", args{"command": "cat a.txt"}, "A line that is known only to read, as with ls and cat, not with git or go, "},
		{"run_command", args{"command": "touch b.txt"}, "What the person configured (touch) "},
		{"run_command", args{"command": "mkdir c"}, "Any other "},
	}
	for _, mode := range []agent.Mode{agent.ConfirmAll, agent.ConfirmSensitive, agent.Yolo} {
		for _, o := range []Options{{}, {AllowedOnly: true}, {Unconfined: true}, {Dev: []string{"touch"}}, {Dev: []string{"touch"}, AllowedOnly: true}, {Dev: []string{"touch"}, AllowedOnly: true, Unconfined: true}} {
			for _, here := range []bool{true, false} {
				o.Mode, o.Commands = mode, true
				who := &person{says: true}
				m := newMachine(t, o, map[bool]*person{true: who}[here])
				about := map[string]string{}
				for _, tool := range m.Tools() {
					if about[tool.Name] = tool.Description; len(tool.Description) > 2_000 {
						t.Errorf("%s: %d bytes", tool.Name, len(tool.Description))
					}
				}
				for _, c := range calls {
					who.shown = nil
					result := m.one(t.Context(), c.tool, c.args)
					did := "runs at once"
					switch {
					case len(who.shown) > 0:
						did = "asks the person first"
					case strings.Contains(result, "nobody is here"):
						did = "would ask the person, and nobody is here"
					case strings.Contains(result, "allowed here"):
						did = "is refused"
					}
					said := about[c.tool]
					at := strings.Index(said, c.what)
					if at < 0 && c.tool == "run_command" {
						at = max(strings.Index(said, "Any other "), strings.Index(said, "Each command "))
					}
					sentence := "runs at once"
					if at >= 0 {
						sentence, _, _ = strings.Cut(said[at:], ".")
					}
					if !strings.Contains(sentence, did) {
						t.Errorf("%s %+v, somebody here %v, %s %v: %q, and it %s (%.80s)", mode, o, here, c.tool, c.args, said, did, result)
					}
				}
				if strings.Contains(about["run_command"], "no network") == o.Unconfined || !strings.Contains(about["run_command"], "3000") {
					t.Errorf("%+v: %s", o, about["run_command"])
				}
			}
		}
	}
}
