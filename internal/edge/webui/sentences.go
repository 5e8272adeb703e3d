package webui

import (
	"embed"

	"piloto/internal/ground/locale"
)

// The sentences of the page, which no other function needs.
//
//go:embed text
var sentences embed.FS

func init() { locale.Add(sentences) }
