package router

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[breakerRow](),
		kvtest.Row[memoryRow](),
		kvtest.Row[routerRow](),
		kvtest.Document(settingsOf),
		kvtest.Document(businesses),
		kvtest.Document(exchanges),
	)
}
