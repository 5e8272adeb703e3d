package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDiscoverOmitsTaskOnlyTool: the client waits for an answer, and starts no tasks.
func TestDiscoverOmitsTaskOnlyTool(t *testing.T) {
	for support, left := range map[string]bool{"required": true, "optional": false, "forbidden": false} {
		raw := json.RawMessage(fmt.Sprintf(`{"name":"report","inputSchema":{"type":"object"},"execution":{"taskSupport":%q}}`, support))
		ops, warnings := operations(listing{tools: []json.RawMessage{raw}}, true)
		if (len(ops) == 0) != left || left != (len(warnings) == 1 && strings.Contains(warnings[0], "report: it is only done as a task")) {
			t.Errorf("%s: %+v, %q", support, ops, warnings)
		}
	}
}
