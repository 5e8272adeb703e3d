package machines

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestValidatorAcceptsCases(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	err = Validate(context.Background(), filepath.Join(cache, "localaws", "asl-validator@4.0.0"))
	if errors.Is(err, ErrNoValidator) {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
}
