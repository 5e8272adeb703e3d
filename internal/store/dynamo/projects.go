package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"piloto/internal/conversation"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
)

type projectRow struct {
	PK        string   `dynamodbav:"PK"`
	SK        string   `dynamodbav:"SK"`
	ProjectID string   `dynamodbav:"project_id"`
	Name      string   `dynamodbav:"name"`
	Context   string   `dynamodbav:"context,omitempty"`
	All       *bool    `dynamodbav:"all_services,omitempty"`
	MCPIDs    []string `dynamodbav:"mcp_ids,omitempty"`
	CreatedAt int64    `dynamodbav:"created_at"`
	UpdatedAt int64    `dynamodbav:"updated_at"`
	Version   int      `dynamodbav:"version"`
}

// all reads who may use every service. Rows of before said so by an empty list.
func (row projectRow) all() bool {
	if row.All == nil {
		return len(row.MCPIDs) == 0
	}
	return *row.All
}

func (row projectRow) project() conversation.Project {
	return conversation.Project{
		ID: row.ProjectID, Name: row.Name, Context: row.Context, All: row.all(), MCPIDs: row.MCPIDs,
		CreatedAt: fromMillis(row.CreatedAt), UpdatedAt: fromMillis(row.UpdatedAt),
	}
}

func rowOfProject(account string, p conversation.Project, version int) projectRow {
	return projectRow{
		PK: accountKey(account), SK: "PROJECT#" + p.ID, ProjectID: p.ID, Name: p.Name, Context: p.Context,
		All: &p.All, MCPIDs: p.MCPIDs, CreatedAt: millis(p.CreatedAt), UpdatedAt: millis(p.UpdatedAt), Version: version,
	}
}

// CreateProject stores a new project.
func (t *Table) CreateProject(ctx context.Context, account string, p conversation.Project) error {
	w, err := t.put(rowOfProject(account, p, 1), "attribute_not_exists(PK)", errTaken)
	if err != nil {
		return err
	}
	return t.commit(ctx, w)
}

// Project returns a project.
func (t *Table) Project(ctx context.Context, account, id string) (conversation.Project, error) {
	row, err := t.projectRow(ctx, account, id)
	return row.project(), err
}

func (t *Table) projectRow(ctx context.Context, account, id string) (projectRow, error) {
	var row projectRow
	err := t.get(ctx, accountKey(account), "PROJECT#"+id, &row, conversation.ErrProjectNotFound)
	return row, err
}

// Projects returns the account's projects, the oldest first.
func (t *Table) Projects(ctx context.Context, account string) ([]conversation.Project, error) {
	items, err := t.read(ctx, kindsIn(accountKey(account), "PROJECT#"), 0)
	if err != nil {
		return nil, err
	}
	var rows []projectRow
	if err := attributevalue.UnmarshalListOfMaps(items, &rows); err != nil {
		return nil, err
	}
	projects := make([]conversation.Project, len(rows))
	for i, row := range rows {
		projects[i] = row.project()
	}
	return projects, nil
}

// UpdateProject changes a project as it is now, again when somebody changed it
// first.
func (t *Table) UpdateProject(ctx context.Context, account, id string, change func(*conversation.Project) error) (conversation.Project, error) {
	var p conversation.Project
	err := run.Retry(ctx, func() error {
		row, err := t.projectRow(ctx, account, id)
		if err != nil {
			return err
		}
		p = row.project()
		if err := change(&p); err != nil {
			return err
		}
		p.ID = id
		w, err := t.put(rowOfProject(account, p, row.Version+1), "version = :seen", plan.ErrMoved)
		if err != nil {
			return err
		}
		w.Put.ExpressionAttributeValues = item{":seen": num(int64(row.Version))}
		return t.commit(ctx, w)
	})
	return p, err
}

// DeleteProject removes a project. Its chats remain, outside any project they
// may use: a step of theirs is refused.
func (t *Table) DeleteProject(ctx context.Context, account, id string) error {
	return t.commit(ctx, t.remove(accountKey(account), "PROJECT#"+id, "attribute_exists(PK)", conversation.ErrProjectNotFound))
}
