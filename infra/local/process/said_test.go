package process

import (
	"context"
	"errors"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
)

// said returns what a person reads of an error, in English: its sentence, with that of its cause.
func said(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	s := locale.OfFault(f)
	s.Args["program"], s.Args["piloto"] = "piloto", "piloto"
	if f.Cause != nil {
		s.Args["why"] = said(f.Cause)
	}
	return s.In(locale.English)
}

// backup, restore, rotateKey and acceptOlder do what their namesakes do, and return only the error.
func backup(ctx context.Context, folder, file string) error {
	_, err := Backup(ctx, folder, file)
	return err
}

func restore(ctx context.Context, file, folder string) error {
	_, err := Restore(ctx, file, folder)
	return err
}

func rotateKey(folder string) error {
	_, err := RotateKey(context.Background(), folder)
	return err
}

func acceptOlder(folder string) error {
	_, err := AcceptOlder(folder)
	return err
}
