package registry

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[serverRow](),
		kvtest.Row[keyRow](),
		kvtest.Row[agentRow](),
		kvtest.Row[pieceRow](),
		kvtest.Document(operations),
		kvtest.Document(allowlists),
		kvtest.Document(patches),
	)
}
