package conversation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Gone is a project, or a chat without one, that was deleted and had files.
type Gone struct {
	Account   string
	ProjectID string
	ChatID    string // only without ProjectID
}

// GoneStore knows whose files are still there.
type GoneStore interface {
	// WithFiles lists what was deleted and had files that are due by a time, the longest due first, at most limit.
	WithFiles(ctx context.Context, at time.Time, limit int) ([]Gone, error)
	// PutOffFiles sets when the files are due again.
	PutOffFiles(ctx context.Context, g Gone, until time.Time) error
	// WithoutFiles notes that the files are deleted, too.
	WithoutFiles(ctx context.Context, g Gone, at time.Time) error
}

// FilesSweeper deletes the files of deleted projects and chats.
type FilesSweeper struct {
	Store GoneStore
	Clear func(ctx context.Context, g Gone) error // deletes the files. It may be repeated
	Now   func() time.Time
	Log   *slog.Logger
}

// maxCleared is how many places one sweep clears: each may have 2,000 files.
const maxCleared = 20

// clearAgain is how long after an attempt the files of a place are due again. Otherwise places that always fail would fill
// every sweep.
const clearAgain = 10 * time.Minute

// Sweep deletes files, and returns of how many projects and chats. One that fails does not prevent the others, in this sweep
// or in a later one.
func (s *FilesSweeper) Sweep(ctx context.Context) (int, error) {
	list, err := s.Store.WithFiles(ctx, s.Now(), maxCleared)
	problems := []error{err}
	cleared := 0
	for _, g := range list {
		if ctx.Err() != nil {
			break
		}
		if err := s.clear(ctx, g); err != nil {
			problems = append(problems, fmt.Errorf("files of project %q, chat %q: %w", g.ProjectID, g.ChatID, err))
			continue
		}
		cleared++
		s.Log.InfoContext(ctx, "files.cleared", "account", g.Account, "project_id", g.ProjectID, "chat_id", g.ChatID)
	}
	return cleared, errors.Join(problems...)
}

// clear deletes the files of one place. They are put off before, because the sweep may end meanwhile.
func (s *FilesSweeper) clear(ctx context.Context, g Gone) error {
	if err := s.Store.PutOffFiles(ctx, g, s.Now().Add(clearAgain)); err != nil {
		return err
	}
	if err := s.Clear(ctx, g); err != nil {
		return err
	}
	return s.Store.WithoutFiles(ctx, g, s.Now())
}
