package machine

import (
	"context"
	"strings"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/workspace/filespec"
)

// Context returns the first text about the workspace for the model: a tree of its files, and what AGENTS.md and CLAUDE.md say.
// Where each read asks, so does this one.
func (m *Machine) Context(ctx context.Context) (string, error) {
	tree, err := m.direct.Tree(ctx)
	if err != nil {
		return "", err
	}
	m.copied = m.known.In(m.Root, m.shown)
	guide := m.direct.Guide(ctx, func(name string) bool {
		m.known.Learn(m.Root, m.shown, name)
		return m.consent(m.Mode == agent.ConfirmAll, filespec.ReadFile.Name+" "+name, "cli.machine.ask_read") == ""
	})
	if guide != "" {
		guide = "\n\n" + guide
	}
	for most := job.MaxContext - len(guide); len(tree) > most; { // names may be long
		tree = tree[:strings.LastIndexByte(tree[:most], '\n')] + "\n…"
	}
	return tree + guide, nil
}
