package memory_test

import (
	"testing"

	"piloto/internal/workspace"
	"piloto/internal/workspace/memory"
	"piloto/internal/workspace/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, limits workspace.Limits) workspace.Store { return &memory.Store{Limits: limits} })
}
