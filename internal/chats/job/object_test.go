package job

import "testing"

// TestACallNamesItsObject, as the events and the record tell of it.
func TestACallNamesItsObject(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"write_file", `{"path":"a.go","content":"x"}`, "write_file a.go"},
		{"run_command", `{"command":"npm test"}`, "run_command npm test"},
		{"run_command", `{"command":"cat > a <<E\nx\r\ny\nE\n"}`, "run_command cat > a <<E ↵ x ↵ y ↵ E"},
		{"run_command", `{"command":"ls\u202e\rx"}`, "run_command ls⟦U+202E⟧⟦U+000D⟧x"},
		{"list_files", `{}`, "list_files ."},
		{"list_files", ``, "list_files ."},
		{"list_files", `{"path":""}`, "list_files ."},
		{"list_files", `{"path":"\u200b"}`, "list_files ."},
		{"list_files", `{"recursive":true}`, "list_files ."},
		{"list_files", `{"path":"src"}`, "list_files src"},
		{"grep", `{"text":"x"}`, "grep x"},
		{"find_files", `{"pattern":"*.go"}`, "find_files *.go"},
		{"search_tools", `{"query":"reservar sala"}`, "search_tools reservar sala"},
		{"mcp_request", `{"mcp_id":"s","method":"GET","path":"/rooms"}`, "mcp_request GET /rooms"},
		{"mcp_request", `{"mcp_id":"s","tool":"list_rooms"}`, "mcp_request list_rooms"},
		{"propose_plan", `{"goal":"Reservar","steps":[]}`, "propose_plan Reservar"},
		{"ask_person", `{"question":"¿Cuál?"}`, "ask_person ¿Cuál?"},
		{"odd", `[]`, "odd"},
	} {
		if got := (OpenCall{Name: c.name, Arguments: c.arguments}).Object(); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
		}
	}
}
