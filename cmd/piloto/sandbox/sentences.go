package sandbox

import (
	"embed"

	"piloto/internal/ground/locale"
)

// The sentences about sandboxes.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }
