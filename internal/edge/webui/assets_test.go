package webui

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"piloto/internal/chats/consent"
)

func TestThePagesWordsMatchThoseOfConsent(t *testing.T) {
	want, err := json.Marshal(consent.Listed())
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("asset/words.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("asset/words.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("asset/words.json is not what package consent knows (-update makes it anew)")
	}
}
