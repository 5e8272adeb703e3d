package demo

import (
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// TestASummarySaysAgainWhatThePersonAsked: with what was summarised before.
func TestASummarySaysAgainWhatThePersonAsked(t *testing.T) {
	ask := "Resume.\n<summary>\n«hola».\n</summary>\n\n<conversation>\n" +
		`{"who":"user","text":"¿qué salas hay?"}` + "\n" + `{"who":"assistant","text":"Dos."}` + "\nnonsense\n" + `{"who":"user","text":"una dos tres cuatro cinco seis siete ocho nueve diez once doce trece"}` +
		"\n</conversation>"
	got := newDialogue([]openai.ChatCompletionMessage{{Role: "user", Content: ask}}, nil, time.Time{}).decide()
	if want := "«hola»; «¿qué salas hay?»; «una dos tres cuatro cinco seis siete ocho nueve diez once doce»."; got.text != want {
		t.Errorf("%q", got.text)
	}
}
