package chats

import (
	"context"
	"errors"
	"time"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/retry"
	"piloto/internal/store/gone"
	"piloto/internal/store/kv"
	"piloto/internal/store/setups"
)

type projectRow struct {
	kv.Key
	ProjectID string   `dynamodbav:"project_id"`
	Name      string   `dynamodbav:"name"`
	Context   string   `dynamodbav:"context,omitempty"`
	All       bool     `dynamodbav:"all_services"`
	MCPIDs    []string `dynamodbav:"mcp_ids,omitempty"`
	Files     bool     `dynamodbav:"has_files,omitempty"`
	CreatedAt int64    `dynamodbav:"created_at"`
	UpdatedAt int64    `dynamodbav:"updated_at"`
	Version   int      `dynamodbav:"version"`
}

func (row projectRow) project() conversation.Project {
	return conversation.Project{
		ID: row.ProjectID, Name: row.Name, Context: row.Context, All: row.All, MCPIDs: row.MCPIDs, Files: row.Files,
		CreatedAt: kv.Time(row.CreatedAt), UpdatedAt: kv.Time(row.UpdatedAt),
	}
}

const projectKind = "PROJECT#"

func projectKey(account ids.Account, id string) kv.Key {
	return kv.Key{PK: kv.Account(account), SK: projectKind + id}
}

func rowOfProject(account ids.Account, p conversation.Project, version int) projectRow {
	return projectRow{
		Key: projectKey(account, p.ID), ProjectID: p.ID, Name: p.Name, Context: p.Context,
		All: p.All, MCPIDs: p.MCPIDs, Files: p.Files, CreatedAt: kv.Millis(p.CreatedAt), UpdatedAt: kv.Millis(p.UpdatedAt), Version: version,
	}
}

// CreateProject stores a new project.
func (s *Store) CreateProject(ctx context.Context, account ids.Account, p conversation.Project) error {
	return s.table.Commit(ctx, kv.Insert(rowOfProject(account, p, 1)).Else(kv.ErrTaken), setups.Raise(account))
}

// Project returns a project.
func (s *Store) Project(ctx context.Context, account ids.Account, id string) (conversation.Project, error) {
	row, err := s.rows.projectRow(ctx, account, id)
	return row.project(), err
}

func (r rows) projectRow(ctx context.Context, account ids.Account, id string) (projectRow, error) {
	var row projectRow
	err := r.table.Get(ctx, projectKey(account, id), &row, conversation.ErrProjectNotFound)
	return row, err
}

// Projects returns the account's projects, the oldest first.
func (s *Store) Projects(ctx context.Context, account ids.Account) ([]conversation.Project, error) {
	items, err := s.table.Read(ctx, kv.Rows(kv.Account(account), projectKind), 0)
	if err != nil {
		return nil, err
	}
	return kv.Readable(ctx, s.table, items, func(row projectRow) (conversation.Project, error) { return row.project(), nil })
}

// UpdateProject applies change to the stored project. It reads the project and applies change again
// when another writer was first.
func (s *Store) UpdateProject(ctx context.Context, account ids.Account, id string, change func(*conversation.Project) error) (conversation.Project, error) {
	var p conversation.Project
	err := retry.Do(ctx, func() error {
		row, err := s.rows.projectRow(ctx, account, id)
		if err != nil {
			return err
		}
		p = row.project()
		if err := change(&p); err != nil {
			return err
		}
		p.ID = id
		w := kv.Put(rowOfProject(account, p, row.Version+1)).If(kv.Is("version", row.Version)).Else(fault.ErrMoved)
		return s.table.Commit(ctx, w, setups.Raise(account))
	})
	return p, err
}

// MarkFiles records that a project has files, or a chat without a project.
func (s *Store) MarkFiles(ctx context.Context, account ids.Account, project, chat string) error {
	if project != "" {
		_, err := s.UpdateProject(ctx, account, project, func(p *conversation.Project) error {
			p.Files = true
			return nil
		})
		return err
	}
	return s.table.Do(ctx, kv.Update(Key(account, chat)).Set("has_files", true).If(kv.Exists("PK")).Else(conversation.ErrChatNotFound))
}

// releaseTime bounds how long the deletion of a project lets its chats go; the sweep goes on.
const releaseTime = 5 * time.Second

// DeleteProject removes a project. Its chats remain, without a project; its runs still name it, so that their steps are
// refused. Its files are due to be deleted. The sweep searches for chats once more, because one may come meanwhile.
func (s *Store) DeleteProject(ctx context.Context, account ids.Account, id string) error {
	err := retry.Do(ctx, func() error {
		row, err := s.rows.projectRow(ctx, account, id)
		if err != nil {
			return err
		}
		removed := kv.Delete(projectKey(account, id)).If(kv.Is("version", row.Version)).Else(fault.ErrMoved) // its first file may come meanwhile
		return s.table.Commit(ctx, removed, setups.Raise(account), gone.Note(conversation.Gone{Account: account, ProjectID: id, Bare: !row.Files}))
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	_ = s.ReleaseChats(ctx, account, id) // the project is deleted; the sweep retries a failure
	return nil
}

// ReleaseChats takes the chats out of a project that is deleted. Each keeps its position in the list.
func (s *Store) ReleaseChats(ctx context.Context, account ids.Account, project string) error {
	span, inProject := kv.Rows(kv.Account(account), chatKind), kv.Is("project_id", project)
	span.Filter = inProject
	return s.table.Each(ctx, span, 0, func(it kv.Item) (bool, error) {
		err := s.table.Do(ctx, kv.Update(kv.KeyOf(it)).Remove("project_id").If(inProject).Else(fault.ErrMoved))
		if errors.Is(err, fault.ErrMoved) { // it is elsewhere, or deleted
			err = nil
		}
		return true, err
	})
}
