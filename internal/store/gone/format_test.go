package gone

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) { kvtest.Hold(t, kvtest.Row[goneRow]()) }
