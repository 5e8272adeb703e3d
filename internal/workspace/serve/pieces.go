package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// Join keeps a piece of a file. With the last piece it returns the whole content, and nil before. It may be repeated:
// the rules of the bucket remove the pieces, after a day.
func (s *Service) Join(ctx context.Context, p files.Place, piece files.Piece) (whole []byte, err error) {
	defer s.guard(ctx, &err)
	upload := fmt.Sprintf("%q %q %d", piece.Upload, piece.Name, piece.Total)
	prefix := "uploads/" + p.Prefix() + workspace.Sum([]byte(upload)) + "/"
	key := prefix + fmt.Sprintf("%09d", piece.From)
	if err := s.config.Objects.Put(ctx, key, piece.Content); err != nil {
		return nil, err
	}
	kept, err := s.config.Objects.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(kept, piece.Content) {
		return nil, files.ErrPiece
	}
	if !piece.Last() {
		return nil, nil
	}
	return s.joined(ctx, prefix, piece.Total)
}

// joined returns all pieces one after the other.
func (s *Service) joined(ctx context.Context, prefix string, total int64) ([]byte, error) {
	keys, err := s.config.Objects.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	whole := make([]byte, 0, total)
	for _, key := range keys {
		if from, err := strconv.ParseInt(path.Base(key), 10, 64); err != nil || from != int64(len(whole)) {
			break
		}
		content, err := s.config.Objects.Get(ctx, key)
		if errors.Is(err, workspace.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		whole = append(whole, content...)
	}
	if int64(len(whole)) != total {
		return nil, files.ErrPieces.With("from", strconv.Itoa(len(whole)))
	}
	return whole, nil
}
