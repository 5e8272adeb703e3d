package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// projectRecords serves projects.
type projectRecords struct {
	config   Config
	projects Projects
	servers  tool.ServerReader
}

func (a *api) projects(s projectRecords) {
	register(a, operation{
		method: http.MethodGet, path: "/api/projects", id: "listProjects", access: withChat, summary: "List the projects",
	}, s.listProjects)
	register(a, operation{
		method: http.MethodPost, path: "/api/projects", id: "createProject", access: withAdmin, status: http.StatusCreated,
		summary: "Create a project", failures: []int{413, 415, 422},
	}, s.createProject)
	register(a, operation{
		method: http.MethodGet, path: "/api/projects/{id}", id: "readProject", access: withChat,
		summary: "Read a project", failures: []int{404},
	}, s.readProject)
	register(a, operation{
		method: http.MethodPatch, path: "/api/projects/{id}", id: "updateProject", access: withAdmin,
		summary: "Change what is sent of a project, and nothing else", failures: []int{404, 413, 415, 422},
	}, s.updateProject)
	register(a, operation{
		method: http.MethodDelete, path: "/api/projects/{id}", id: "deleteProject", access: withAdmin, status: http.StatusNoContent,
		summary: "Delete a project; its chats stay, outside any project", failures: []int{404},
	}, s.deleteProject)
}

// ProjectRequest is the body that creates a project.
type ProjectRequest struct {
	Name    string `json:"name" minLength:"1" maxLength:"200"`
	Context string `json:"context,omitempty" doc:"what the model is told in each of its chats; at most 16 KB"`
	Services
}

// Resolve checks the rules that a schema cannot express.
func (r *ProjectRequest) Resolve(huma.Context) []error {
	return projectErrors(&r.Context, r.Services)
}

// ProjectChange is the body that changes a project. Absent members are not changed.
type ProjectChange struct {
	Name    *string `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Context *string `json:"context,omitempty"`
	Services
}

// Resolve checks the rules that a schema cannot express.
func (r *ProjectChange) Resolve(huma.Context) []error {
	return projectErrors(r.Context, r.Services)
}

// Services are the services that the chats of a project may use.
type Services struct {
	All    *bool     `json:"all_services,omitempty" doc:"every active service of the account; true of a new project that lists none, else false"`
	MCPIDs *[]string `json:"mcp_ids,omitempty" maxItems:"100" doc:"these services alone; an empty list allows none"`
}

func (s Services) ids() []string {
	if s.MCPIDs == nil {
		return nil
	}
	return *s.MCPIDs
}

// applyTo sets the services of a project. Absent members are not changed.
func (s Services) applyTo(p *conversation.Project) {
	if s.MCPIDs != nil {
		p.All, p.MCPIDs = false, *s.MCPIDs
	}
	if s.All != nil {
		p.All = *s.All
	}
	if p.All {
		p.MCPIDs = nil
	}
}

func projectErrors(context *string, services Services) []error {
	var errs []error
	if context != nil && len(*context) > clip.Instructions {
		errs = append(errs, errInvalid.At(fault.TooLong(*context, clip.Instructions, "body", "context")))
	}
	if services.All != nil && *services.All && len(services.ids()) > 0 {
		errs = append(errs, errInvalid.At(field("value_error", "body", "all_services")))
	}
	for i, id := range services.ids() {
		if !ids.Valid(id) {
			errs = append(errs, errInvalid.At(field("string_pattern_mismatch", "body", "mcp_ids", i)))
		}
	}
	return errs
}

// ProjectList is the account's projects.
type ProjectList struct {
	Projects []conversation.Project `json:"projects" nullable:"false"`
}

type projectInput struct {
	ID string `path:"id"`
}

func (s projectRecords) listProjects(ctx context.Context, _ *nothing) (*reply[ProjectList], error) {
	projects, err := s.projects.Projects(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return answer(ProjectList{list(projects)}), nil
}

func (s projectRecords) createProject(ctx context.Context, in *struct {
	Keyed
	Body ProjectRequest
},
) (*replayed[conversation.Project], error) {
	return serveOnce(ctx, s.config, func(ctx context.Context, t ticket) (p conversation.Project, err error) {
		account := caller(ctx).Account
		if mayBeRetried(ctx) { // an attempt that died may have made it
			if p, err = s.projects.Project(ctx, account, t.ID); !errors.Is(err, conversation.ErrProjectNotFound) {
				return p, err
			}
		}
		if err := s.knownServers(ctx, in.Body.ids()); err != nil {
			return p, err
		}
		at := t.At.UTC()
		p = conversation.Project{ID: t.ID, Name: strings.TrimSpace(in.Body.Name), Context: in.Body.Context, All: true, CreatedAt: at, UpdatedAt: at}
		in.Body.applyTo(&p)
		return p, s.projects.CreateProject(ctx, account, p)
	})
}

// knownServers returns an error with a field for each id that is not a service of the account.
func (s projectRecords) knownServers(ctx context.Context, ids []string) error {
	err := errInvalid
	for i, id := range ids {
		_, missing := s.servers.Server(ctx, caller(ctx).Account, id)
		if errors.Is(missing, tool.ErrServerNotFound) {
			err = err.At(field("mcp.not_found", "body", "mcp_ids", i))
		} else if missing != nil {
			return missing
		}
	}
	if len(err.Fields) == 0 {
		return nil
	}
	return err
}

func (s projectRecords) readProject(ctx context.Context, in *projectInput) (*reply[conversation.Project], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrProjectNotFound
	}
	p, err := s.projects.Project(ctx, caller(ctx).Account, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(p), nil
}

func (s projectRecords) updateProject(ctx context.Context, in *struct {
	ID   string `path:"id"`
	Body ProjectChange
},
) (*reply[conversation.Project], error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrProjectNotFound
	}
	if err := s.knownServers(ctx, in.Body.ids()); err != nil {
		return nil, err
	}
	now := s.config.Now().UTC()
	p, err := s.projects.UpdateProject(ctx, caller(ctx).Account, in.ID, func(p *conversation.Project) error {
		if in.Body.Name != nil {
			p.Name = strings.TrimSpace(*in.Body.Name)
		}
		if in.Body.Context != nil {
			p.Context = *in.Body.Context
		}
		in.Body.applyTo(p)
		p.UpdatedAt = now
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer(p), nil
}

func (s projectRecords) deleteProject(ctx context.Context, in *projectInput) (*nothing, error) {
	if !ids.Valid(in.ID) {
		return nil, conversation.ErrProjectNotFound
	}
	return nil, s.projects.DeleteProject(ctx, caller(ctx).Account, in.ID)
}
