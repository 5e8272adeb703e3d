package wallet

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[walletRow](),
		kvtest.Row[sessionRow](),
		kvtest.Row[entryRow](),
		kvtest.Row[onceRow](),
		kvtest.Row[holdRow](),
		kvtest.Row[periodRow](),
		kvtest.Row[turnRow](),
		kvtest.Document(turns),
	)
}
