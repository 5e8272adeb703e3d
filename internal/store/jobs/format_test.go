package jobs

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[jobRow](),
		kvtest.Row[roundRow](),
		kvtest.Row[eventsRow](),
		kvtest.Row[textRow](),
		kvtest.Row[waitRow](),
		kvtest.Document(jobDocument),
		kvtest.Document(roundDocument),
		kvtest.Document(eventList),
	)
}
