package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

// uploadOf returns the beginning of the keys of all pieces of an upload.
func uploadOf(p files.Place, piece files.Piece) string {
	upload := fmt.Sprintf("%q %q %d", piece.Upload, piece.Name, piece.Total)
	return "uploads/" + p.Prefix() + workspace.Sum([]byte(upload)) + "/"
}

// Join keeps a piece of a file, instead of those that came for the same bytes, and returns the versions removed to make room
// for it. With the last piece it returns the whole content, and nil before. It may be repeated. The first piece is refused if
// the file has no room. The rules of the bucket remove pieces that nobody joins, after a day.
func (s *Service) Join(ctx context.Context, p files.Place, piece files.Piece) (whole []byte, gone []files.Gone, err error) {
	defer s.guard(ctx, &err)
	own := upload{prefix: uploadOf(p, piece)}
	if gone, err = s.roomForAll(ctx, p, piece, own); err != nil {
		return nil, gone, err
	}
	settle, more, err := s.hold(ctx, p, files.Cost(int64(len(piece.Content))), own)
	gone = append(gone, more...)
	if err != nil {
		return nil, gone, err
	}
	defer settle(true)
	if err := s.replace(ctx, own.prefix, piece); err != nil {
		return nil, gone, err
	}
	if !piece.Last() {
		return nil, gone, nil
	}
	whole, err = s.joined(ctx, own.prefix, piece.Total)
	return whole, gone, err
}

// roomForAll makes room for the missing pieces of a file, so that nothing is removed for a file that is refused later.
func (s *Service) roomForAll(ctx context.Context, p files.Place, piece files.Piece, own upload) ([]files.Gone, error) {
	if s.config.Bounds == nil {
		return nil, nil
	}
	missing := files.Cost(piece.Total) + piece.Total>>20*files.Cost(0) // a piece has a megabyte, and counts as a block more
	kept, err := s.config.Objects.Kept(ctx, own.prefix)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		missing -= files.Cost(k.Size)
	}
	if missing <= 0 {
		return nil, nil
	}
	settle, gone, err := s.hold(ctx, p, missing, own)
	if err == nil {
		settle(false)
	}
	return gone, err
}

// replace stores a piece and removes all others that share a byte with it.
func (s *Service) replace(ctx context.Context, prefix string, piece files.Piece) error {
	key := keyOfPiece(prefix, piece.From)
	kept, err := s.config.Objects.Get(ctx, key)
	if err == nil && bytes.Equal(kept, piece.Content) {
		return nil
	}
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return err
	}
	all, err := s.config.Objects.Kept(ctx, prefix)
	if err != nil {
		return err
	}
	end := piece.From + int64(len(piece.Content))
	others := slices.DeleteFunc(all, func(k files.Kept) bool {
		from, err := strconv.ParseInt(path.Base(k.Key), 10, 64)
		return err == nil && (from >= end || from+k.Size <= piece.From)
	})
	if err := s.config.Objects.Remove(ctx, others); err != nil {
		return err
	}
	return s.config.Objects.Put(ctx, key, piece.Content)
}

func keyOfPiece(prefix string, from int64) string { return prefix + fmt.Sprintf("%09d", from) }

// Drop removes the pieces of an upload that was joined and written.
func (s *Service) Drop(ctx context.Context, p files.Place, piece files.Piece) (err error) {
	defer s.guard(ctx, &err)
	all, err := s.config.Objects.Kept(ctx, uploadOf(p, piece))
	if err != nil {
		return err
	}
	return s.config.Objects.Remove(ctx, all)
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
