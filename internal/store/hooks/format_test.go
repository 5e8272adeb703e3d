package hooks

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t, kvtest.Row[hookRow](), kvtest.Row[secretRow](), kvtest.Row[outboxRow](), kvtest.Row[deliveryRow](),
		kvtest.Document(messageList), kvtest.Document(attemptList))
}
