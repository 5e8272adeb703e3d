package wallet

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[walletRow](),
		kvtest.Row[entryRow](),
		kvtest.Row[onceRow](),
		kvtest.Row[turnRow](),
		kvtest.Document(turns),
	)
}
