package store

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatIsTheGoldenOne(t *testing.T) { kvtest.Hold(t, kvtest.Row[formatRow]()) }
