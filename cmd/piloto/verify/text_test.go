package verify

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Every unknown member in the text of a receipt or of its chain is reported, wherever it stands: a reader of the
// text would assume that it is signed.
func TestUnknownMembersAreReported(t *testing.T) {
	b := downloadBundle(t)
	t.Chdir(b.folder)
	for _, name := range []string{"a.json", "chain.json"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		places := 0
		for at := 0; ; at++ {
			next := strings.IndexByte(string(raw[at:]), '{')
			if next < 0 {
				break
			}
			at += next
			if at == 0 && name == "chain.json" || inString(raw[:at]) { // a page may have a cursor
				continue
			}
			places++
			member, _, _ := strings.Cut(string(raw[at+1:]), ":")
			for _, more := range []string{`"note":"and more"`, upper(member) + `:"forged"`, upper(member) + `:null`} {
				if raw[at+1] == '}' || strings.TrimSpace(member) == "" {
					continue
				}
				forged := string(raw[:at+1]) + more + "," + string(raw[at+1:])
				if err := os.WriteFile("forged.json", []byte(forged), 0o600); err != nil {
					t.Fatal(err)
				}
				args := []string{"--keys", "keys.json", "forged.json"}
				if name == "chain.json" {
					args = []string{"--keys", "keys.json", "--chain", "forged.json", "a.json"}
				}
				var out strings.Builder
				if code := run(args, strings.NewReader(""), &out, &out); code == holds {
					t.Errorf("%s with %s at %d holds: %s", name, more, at, out.String())
				}
			}
		}
		if places < 6 {
			t.Errorf("%s was changed in %d places", name, places)
		}
	}
}

func upper(member string) string {
	var text string
	if json.Unmarshal([]byte(member), &text) != nil || text == "" {
		return `"X"`
	}
	raw, _ := json.Marshal(strings.ToUpper(text[:1]) + text[1:])
	return string(raw)
}

// inString reports whether a JSON text ends inside a string.
func inString(raw []byte) bool {
	in := false
	for i := 0; i < len(raw); i++ {
		switch {
		case in && raw[i] == '\\':
			i++
		case raw[i] == '"':
			in = !in
		}
	}
	return in
}

func TestEmptyPinIsRefused(t *testing.T) {
	b := downloadBundle(t)
	t.Chdir(b.folder)
	var out strings.Builder
	if code := run([]string{"--chain", "chain.json", "--pin", ""}, strings.NewReader(""), &out, &out); code != unreadable {
		t.Errorf("%d: %s", code, out.String())
	}
}
