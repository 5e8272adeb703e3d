package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"piloto/internal/ground/ids"
	"piloto/internal/runs/plan"
	"piloto/internal/store/kv"
)

// How results are stored.
const (
	maxHere   = 6 << 10   // bytes of a body that is kept in its step's own item, which each invocation of a run reads
	maxNear   = 200 << 10 // of a body that is read with its run
	maxPiece  = 350 << 10 // of an item with a piece of a body
	maxBegins = 6 << 10   // of the beginning that is kept instead of a body stored apart
)

// resultRow is a piece of a body that is stored apart: of its JSON, gzipped as a whole
// when that is shorter.
type resultRow struct {
	kv.Key
	Piece []byte `dynamodbav:"piece"`
}

// nearKind is the kind of the rows of bodies that are read with their run. Larger ones have a kind of their own.
const nearKind, farKind = "BODY#", "RESULT#"

// piecesKey begins the keys of the pieces of one result. It names the content: of
// two invocations that answer for the same attempt neither can change a piece of the
// other's.
func piecesKey(id plan.EffectID, attempt int, res plan.Result) string {
	kind := farKind
	if res.Near {
		kind = nearKind
	}
	return fmt.Sprintf("%s%s#%d#%s#", kind, id, attempt, res.SHA256[:min(16, len(res.SHA256))])
}

func pieceKey(prefix string, n int) string { return prefix + kv.Pad(int64(n), 2) }

// bodies keeps the bodies of results that are too large for the rows of their steps.
type bodies struct{ table *kv.Table }

// apart stores the body of a large result in pieces, before anything refers to
// them, and returns the state that does. A crash in between leaves pieces that
// nothing names.
func (b bodies) apart(ctx context.Context, r plan.Run, st plan.StepState) (plan.StepState, error) {
	if st.Result == nil || st.Result.Apart > 0 || len(st.Result.Body) <= maxHere {
		return st, nil
	}
	res := *st.Result
	res.Near = len(res.Body) <= maxNear
	if res.SHA256 == "" {
		res.SHA256 = ids.Hash(string(res.Body))
	}
	raw, err := kv.Zip(res.Body)
	if err != nil {
		return st, err
	}
	prefix := piecesKey(st.StepID, st.Attempts, res)
	for n := 0; len(raw) > 0; n++ {
		size := min(maxPiece, len(raw))
		if err := b.putPiece(ctx, resultRow{Key: kv.Key{PK: kv.Run(r.Account, r.ID), SK: pieceKey(prefix, n)}, Piece: raw[:size]}); err != nil {
			return st, err
		}
		raw = raw[size:]
		res.Apart = n + 1
	}
	res.Body = beginning(res.Body)
	st.Result = &res
	return st, nil
}

func (b bodies) putPiece(ctx context.Context, row resultRow) error {
	return b.table.Do(ctx, kv.Put(row))
}

// beginning returns the first characters of a body that is stored apart, as a JSON string of at most
// maxBegins bytes.
func beginning(body json.RawMessage) json.RawMessage {
	text := string(body[:min(2*maxBegins, len(body))])
	var whole string
	if body[0] == '"' && json.Unmarshal(body, &whole) == nil {
		text = whole
	}
	for size := maxBegins; ; size /= 2 {
		text = text[:min(size, len(text))]
		for text != "" && !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		if raw, err := json.Marshal(strings.ToValidUTF8(text, "")); err == nil && len(raw) <= maxBegins {
			return raw
		}
	}
}

// pieces reads those of a result, in their order.
func (b bodies) pieces(ctx context.Context, r plan.Run, id plan.EffectID, attempt int, res plan.Result) ([]resultRow, error) {
	prefix := piecesKey(id, attempt, res)
	span := kv.Rows(kv.Run(r.Account, r.ID), prefix)
	span.To = pieceKey(prefix, res.Apart-1)
	items, err := b.table.Read(ctx, span, 0)
	if err != nil {
		return nil, err
	}
	rows, err := kv.DecodeAll[resultRow](items)
	if err != nil {
		return nil, err
	}
	if len(rows) != res.Apart {
		return nil, fmt.Errorf("store: run %s: %d of %d pieces of the result of %s", r.ID, len(rows), res.Apart, id)
	}
	return rows, nil
}

// Whole returns a result of an effect of the run with all of its body.
func (s *Store) Whole(ctx context.Context, r plan.Run, id plan.EffectID, res plan.Result) (plan.Result, error) {
	if res.Apart == 0 {
		return res, nil
	}
	rows, err := s.bodies.pieces(ctx, r, id, r.State(id).Attempts, res)
	if err != nil {
		return res, err
	}
	var raw []byte
	for _, row := range rows {
		raw = append(raw, row.Piece...)
	}
	return joined(r, id, res, raw)
}

// joined returns a result with the body that its pieces have together.
func joined(r plan.Run, id plan.EffectID, res plan.Result, pieces []byte) (plan.Result, error) {
	raw, err := kv.Unzip(pieces)
	if err != nil {
		return res, fmt.Errorf("store: run %s: the result of %s: %w", r.ID, id, err)
	}
	res.Body, res.Apart, res.Near = raw, 0, false
	return res, nil
}

// fill returns a run with the bodies that are read with it.
func (b bodies) fill(ctx context.Context, r plan.Run) (plan.Run, error) {
	near := func(st plan.StepState) bool { return st.Result != nil && st.Result.Near }
	if !slices.ContainsFunc(r.Steps, near) {
		return r, nil
	}
	items, err := b.table.Read(ctx, kv.Rows(kv.Run(r.Account, r.ID), nearKind), 0)
	if err != nil {
		return r, err
	}
	rows, err := kv.DecodeAll[resultRow](items)
	if err != nil {
		return r, err
	}
	pieces := make(map[string][]byte, len(rows))
	for _, row := range rows {
		pieces[row.SK] = row.Piece
	}
	for i, st := range r.Steps {
		if !near(st) {
			continue
		}
		piece, found := pieces[pieceKey(piecesKey(st.StepID, st.Attempts, *st.Result), 0)]
		if !found {
			return r, fmt.Errorf("store: run %s: the result of %s is missing", r.ID, st.StepID)
		}
		whole, err := joined(r, st.StepID, *st.Result, piece)
		if err != nil {
			return r, err
		}
		r.Steps[i].Result = &whole
	}
	return r, nil
}

// copyResults copies the pieces of the results that a run takes from the run before it.
func (b bodies) copyResults(ctx context.Context, r plan.Run) error {
	from := r
	from.ID = r.Retries
	for _, st := range r.Steps {
		if st.Reused == "" || st.Result == nil || st.Result.Apart == 0 {
			continue
		}
		rows, err := b.pieces(ctx, from, st.StepID, st.Attempts, *st.Result)
		if err != nil {
			return err
		}
		for _, row := range rows {
			row.PK = kv.Run(r.Account, r.ID)
			if err := b.putPiece(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}
