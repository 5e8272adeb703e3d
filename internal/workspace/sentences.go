package workspace

import (
	"embed"

	"piloto/internal/ground/locale"
)

// The sentences about files, which functions without a workspace do not need.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }
