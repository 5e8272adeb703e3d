package settings

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[settingRow](),
		kvtest.Document(assistants),
		kvtest.Document(entitlements),
		kvtest.Document(terms),
		kvtest.Document(providers),
		kvtest.Document(healths),
		kvtest.Document(checks),
		kvtest.Document(lessons),
	)
}
