package access

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[tokenRow](),
		kvtest.Row[webhookRow](),
		kvtest.Row[replayRow](),
		kvtest.Row[connectionRow](),
		kvtest.Row[socketRow](),
	)
}
