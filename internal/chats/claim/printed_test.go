package claim

import (
	"testing"

	"piloto/internal/chats/toolset"
)

// TestACallOfAnyToolThatIsPrintedIsOne: each tool of services, and that which proposes changes of files.
func TestACallOfAnyToolThatIsPrintedIsOne(t *testing.T) {
	for _, name := range []string{
		toolset.Request, toolset.Plan, toolset.Revise, toolset.Search, toolset.Result, toolset.Ask, toolset.Withdraw, toolset.Apply,
	} {
		for _, text := range []string{name + `(id="l1")`, "`" + name + "`: {}", "Voy a llamar a " + name + " ahora."} {
			if !Read(text).Poses() {
				t.Errorf("%q is not a printed call", text)
			}
		}
	}
	for _, text := range []string{
		"Take a look (it is new).", "Look: it is open.", "`grep` busca texto.", "def read_file(path):\n    return open(path).read()",
	} {
		if Read(text).Announces {
			t.Errorf("%q is a printed call", text)
		}
	}
}
