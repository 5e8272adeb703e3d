package chats

import (
	"testing"

	"piloto/infra/local/fixture/kvtest"
)

func TestStoredFormatEqualsGoldenFiles(t *testing.T) {
	kvtest.Hold(t,
		kvtest.Row[chatRow](),
		kvtest.Row[messageRow](),
		kvtest.Row[answerRow](),
		kvtest.Row[askedRow](),
		kvtest.Row[sightRow](),
		kvtest.Row[stopRow](),
		kvtest.Row[refusalRow](),
		kvtest.Row[unansweredRow](),
		kvtest.Row[summaryRow](),
		kvtest.Row[projectRow](),
		kvtest.Document(metadata),
		kvtest.Document(transcripts),
	)
}
