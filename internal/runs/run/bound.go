package run

import (
	"context"
	"errors"
	"slices"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/origin"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// The reasons why a step of a confirmed plan may not run. The locale files hold their sentences
// under the same keys.
var (
	ErrServerMissing    = fault.New(fault.Conflict, "step.server_missing")
	ErrServerInactive   = fault.New(fault.Conflict, "step.server_inactive")
	ErrServerNotAllowed = fault.New(fault.Conflict, "step.server_not_allowed")
	ErrToolChanged      = fault.New(fault.Conflict, "step.tool_changed")
	ErrKeyMoved         = fault.New(fault.Conflict, "step.key_moved")
)

// Bound returns the server and the operation that a step is bound to, if the binding still holds: the server exists, is
// active, may be used by the project, has the same base URL and sends its key in the same part of the request, and its
// current catalogue has the tool with the same fingerprint.
func Bound(ctx context.Context, c Catalogue, call plan.Bound) (tool.Server, tool.Operation, error) {
	none := func(err error) (tool.Server, tool.Operation, error) { return tool.Server{}, tool.Operation{}, err }
	step, b := call.Step, call.Binding
	if b.MCPID != step.MCPID {
		return none(ErrToolChanged.With("tool", step.Called()))
	}
	entry := tool.Entry{Name: step.Tool, Method: step.Method, Path: b.Template}
	changed := ErrToolChanged.With("tool", entry.String())
	if step.MCPID == tool.FilesID {
		op, err := tool.FilesOperation(step.Tool)
		if err != nil || op.Fingerprint != b.Fingerprint || step.Method != op.Method {
			return none(changed)
		}
		files := tool.FilesServer()
		files.Name = b.ServerName
		return files, op, nil
	}
	server, err := c.Servers.Server(ctx, call.Account, step.MCPID)
	switch {
	case errors.Is(err, tool.ErrServerNotFound):
		return none(ErrServerMissing)
	case err != nil:
		return none(err)
	case !server.Active:
		return none(ErrServerInactive)
	case !origin.Same(server.BaseURL, b.BaseURL), slices.Contains(server.Frozen, step.Tool), server.IsAgent():
		return none(changed)
	}
	if call.ProjectID != "" {
		project, err := c.Projects.Project(ctx, call.Account, call.ProjectID)
		if errors.Is(err, conversation.ErrProjectNotFound) || err == nil && !project.Uses(server.ID) {
			return none(ErrServerNotAllowed)
		}
		if err != nil {
			return none(err)
		}
	}
	op, err := c.Operations.Operation(ctx, call.Account, server, entry)
	switch {
	case errors.Is(err, tool.ErrNotAllowed):
		return none(changed)
	case err != nil:
		return none(err)
	case op.Fingerprint != b.Fingerprint, server.At(op) != b.BaseURL, op.Refused != nil:
		return none(changed)
	case tool.Auth(server.KeysOf(op)) != b.Auth:
		return none(ErrKeyMoved.With("server", server.Name))
	}
	return server, op, nil
}

// snapshot returns a catalogue that reads each server and project once, so that a group of checks sees
// one state.
func (c Catalogue) snapshot() Catalogue {
	once := snapshot{c, map[string]tool.Server{}, map[string]conversation.Project{}}
	c.Servers, c.Projects = once, once
	return c
}

type snapshot struct {
	of       Catalogue
	servers  map[string]tool.Server
	projects map[string]conversation.Project
}

// Server implements tool.ServerReader.
func (s snapshot) Server(ctx context.Context, account ids.Account, id string) (tool.Server, error) {
	if server, ok := s.servers[id]; ok {
		return server, nil
	}
	server, err := s.of.Servers.Server(ctx, account, id)
	if err == nil {
		s.servers[id] = server
	}
	return server, err
}

// Project implements conversation.ProjectReader.
func (s snapshot) Project(ctx context.Context, account ids.Account, id string) (conversation.Project, error) {
	if project, ok := s.projects[id]; ok {
		return project, nil
	}
	project, err := s.of.Projects.Project(ctx, account, id)
	if err == nil {
		s.projects[id] = project
	}
	return project, err
}
