package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"piloto/internal/ground/fault"
)

var errMoved = fault.New(fault.Conflict, "thing.moved")

func TestRefiningKeepsIdentityAndOriginal(t *testing.T) {
	err := fmt.Errorf("while saving: %w", errMoved.With("name", "x").Because(io.EOF).At(fault.Field{Loc: []any{"body", "a"}, Type: "missing"}))
	if !errors.Is(err, errMoved) || !errors.Is(err, io.EOF) || fault.KindOf(err) != fault.Conflict {
		t.Errorf("%v lost what it is", err)
	}
	got := fault.Of(err)
	if got.Args["name"] != "x" || len(got.Fields) != 1 {
		t.Errorf("%+v", got)
	}
	if len(errMoved.Args) != 0 || errMoved.Cause != nil || errMoved.Fields != nil {
		t.Errorf("the sentinel was changed: %+v", errMoved)
	}
	if one, two := errMoved.With("a", "1"), errMoved.With("b", "2"); len(one.Args) != 1 || len(two.Args) != 1 {
		t.Error("copies share their facts")
	}
}

func TestUnclassifiedErrorIsInternal(t *testing.T) {
	got := fault.Of(io.ErrUnexpectedEOF)
	if got.Kind != fault.Internal || got.Code != "internal_error" || !errors.Is(got, io.ErrUnexpectedEOF) {
		t.Errorf("%+v", got)
	}
	if errors.Is(errMoved, io.EOF) || errors.Is(errMoved, fault.New(fault.Conflict, "other")) {
		t.Error("two faults are one")
	}
}
