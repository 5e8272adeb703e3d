package tool

import "encoding/json"

// FilesID is the id of the only server that nobody registers: the files of the project, or of the chat, of a run. Its
// tools change files as one step of a plan, and its calls never leave the deployment.
const FilesID = "files"

// The tools of the files. Both may be repeated after their answer was lost, so they are a PUT.
const (
	ApplyChanges = "apply_changes"
	UndoChanges  = "undo_changes"
)

// FilesServer returns the server of the files.
func FilesServer() Server {
	return Server{ID: FilesID, Name: FilesID, Kind: KindFiles, Role: RoleTools, BaseURL: "files:", Active: true, Status: Online, Catalogue: "1"}
}

// FilesOperation returns a tool of the files; ErrNotAllowed if there is none of that name.
func FilesOperation(name string) (Operation, error) {
	for _, e := range FilesEntries() {
		if e.Name == name {
			return Operation{Entry: e, Body: &Body{Required: true, MediaType: "application/json", Schema: json.RawMessage(filesSchema)}}, nil
		}
	}
	return Operation{}, ErrNotAllowed
}

// FilesEntries returns the allowlist of the files.
func FilesEntries() []Entry {
	return []Entry{
		{Name: ApplyChanges, Method: "PUT", Fingerprint: "files:" + ApplyChanges + ":1"},
		{Name: UndoChanges, Method: "PUT", Fingerprint: "files:" + UndoChanges + ":1"},
	}
}

// filesSchema is the JSON Schema of the arguments: those of a plan that turn wrote.
const filesSchema = `{"type":"object","required":["set"]}`
