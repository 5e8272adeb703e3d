package conversation

import (
	"context"
	"log/slog"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/sweep"
)

// Gone is a project that was deleted, or a chat without one that was deleted and had files.
type Gone struct {
	Account   ids.Account
	ProjectID string
	ChatID    string // only without ProjectID
	Bare      bool   // a project without files
}

// GoneStore knows whose files are still there.
type GoneStore interface {
	// WithFiles lists deleted projects and chats whose files are due by a time, the longest due first, at most limit.
	WithFiles(ctx context.Context, at time.Time, limit int) ([]sweep.Row[Gone], error)
	// PutOffFiles sets when the files are due again.
	PutOffFiles(ctx context.Context, g Gone, until time.Time) error
	// WithoutFiles notes that the files are deleted, too, and the chats released.
	WithoutFiles(ctx context.Context, g Gone, at time.Time) error
}

// Releaser takes the chats out of a project that is deleted.
type Releaser interface {
	ReleaseChats(ctx context.Context, account ids.Account, project string) error
}

// FilesSweeper deletes the files of deleted projects and chats, and takes the chats out of such projects.
type FilesSweeper struct {
	Store GoneStore
	Chats Releaser
	Clear func(ctx context.Context, g Gone) error // deletes the files. It may be repeated
	Now   func() time.Time
	Log   *slog.Logger
}

// maxCleared is how many projects and chats one sweep clears: each may have 2,000 files.
const maxCleared = 20

// clearAgain is how long after an attempt the files of a project or chat are due again.
const clearAgain = 10 * time.Minute

// clearWithin is how long clearing one project or chat may take.
const clearWithin = 20 * time.Second

// Sweep deletes files, and returns of how many projects and chats.
func (s *FilesSweeper) Sweep(ctx context.Context) (int, error) {
	left := sweep.List[Gone]{Name: "files", Due: s.Store.WithFiles, Do: s.clear, Most: maxCleared, Each: clearWithin, Within: clearWithin, Now: s.Now, Log: s.Log}
	count, err := left.Sweep(ctx)
	return count.Done, err
}

// clear deletes the files of one project or chat. It first makes them due later, because the sweep may end meanwhile.
func (s *FilesSweeper) clear(ctx context.Context, g Gone) error {
	if err := s.Store.PutOffFiles(ctx, g, s.Now().Add(clearAgain)); err != nil {
		return err
	}
	if g.ProjectID != "" {
		if err := s.Chats.ReleaseChats(ctx, g.Account, g.ProjectID); err != nil {
			return err
		}
	}
	if !g.Bare {
		if err := s.Clear(ctx, g); err != nil {
			return err
		}
	}
	if err := s.Store.WithoutFiles(ctx, g, s.Now()); err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "files.cleared", "account", g.Account, "project_id", g.ProjectID, "chat_id", g.ChatID)
	return nil
}
