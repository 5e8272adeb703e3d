package runs

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[runRow](),
		kvtest.Row[waitRow](),
		kvtest.Row[eventRow](),
		kvtest.Row[stepRow](),
		kvtest.Row[revisionRow](),
		kvtest.Row[rulesRow](),
		kvtest.Row[resultRow](),
		kvtest.Row[headRow](),
		kvtest.Row[conclusionRow](),
		kvtest.Document(revisions),
		kvtest.Document(failures),
		kvtest.Document(withdrawn),
		kvtest.Document(dropped),
		kvtest.Document(states),
		kvtest.Document(ruleLists),
	)
}
