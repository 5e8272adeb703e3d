package call

import (
	"context"
	"encoding/json"
	"fmt"

	"piloto/internal/ground/fault"
	"piloto/internal/workspace/files"
)

// Serve answers a call of a Client: the function files invokes it. A fault is an answer, so that the caller gets its
// code and its arguments. The error is one that no caller can do anything about.
func Serve(ctx context.Context, w files.All, event []byte) ([]byte, error) {
	var in request
	if err := json.Unmarshal(event, &in); err != nil {
		return nil, fmt.Errorf("call: read the event: %w", err)
	}
	result, failed := in.serve(ctx, w)
	if failed != nil && fault.KindOf(failed) == fault.Internal {
		return nil, failed
	}
	var out response
	var err error
	if applied, ok := result.(files.Applied); ok {
		out.Gone, result = applied.Gone, applied.Done
	}
	if out.Result, err = encode(result); err != nil {
		return nil, err
	}
	if failed != nil {
		out.Fault = failureOf(fault.Of(failed))
	}
	raw, err := encode(out)
	if err == nil && len(raw) > maxPayload {
		return encode(response{Fault: failureOf(errTooLarge)})
	}
	return raw, err
}

func (in request) serve(ctx context.Context, w files.All) (any, error) {
	switch in.Op {
	case opUse:
		return w.Use(ctx, in.Place, in.Set, callsOf(in.Calls), in.Options)
	case opTree:
		return w.Tree(ctx, in.Place, in.Set)
	case opShow:
		return w.Show(ctx, in.Place, in.Set)
	case opWithout:
		return w.Without(ctx, in.Place, in.Set, in.Names)
	case opRebase:
		set, moved, err := w.Rebase(ctx, in.Place, in.Set)
		return rebased{set, moved}, err
	case opApply:
		return w.Apply(ctx, in.Place, in.Set)
	case opUndo:
		return w.Undo(ctx, in.Place, in.Set, in.Done)
	case opClear:
		return struct{}{}, w.Clear(ctx, in.Place)
	}
	return nil, fmt.Errorf("call: there is no operation %q", in.Op)
}
