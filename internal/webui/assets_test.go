package webui

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"piloto/internal/intent"
)

func TestThePageHasTheWordsOfIntents(t *testing.T) {
	want, err := json.Marshal(map[string][]string{
		"confirm": intent.Words(intent.Confirm), "cancel": slices.Concat(intent.Words(intent.Cancel), intent.Words(intent.Stop)), "agree": strings.Split(intent.Agreeing(), ""),
	})
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
		t.Error("asset/words.json is not what package intent knows (-update makes it anew)")
	}
}
