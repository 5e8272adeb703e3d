package process

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"piloto/internal/boot"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// TestOpenedCodeLivesAMinute: other users of the machine can list the arguments of a browser.
func TestOpenedCodeLivesAMinute(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		terminal bool
		opens    bool
	}{
		"a terminal": {Settings{Browse: true}, true, true}, "switched off": {Settings{}, true, false}, "a log": {Settings{Browse: true}, false, false},
	} {
		p, _, _, _ := deploy(t, c.settings)
		now, opened := boot.Clock(), ""
		p.Clock = func() time.Time { return now }
		p.Person = Person{Terminal: c.terminal, Open: func(url string) { opened = url }}
		var out bytes.Buffer
		if err := p.greet(t.Context(), &out, testToken, "kept"); err != nil {
			t.Fatal(err)
		}
		printed := regexp.MustCompile(`http\S+/signin\?code=[\w-]+`).FindString(out.String())
		if c.opens != (opened != "") || c.terminal != (printed != "") || opened != "" && opened == printed || strings.Contains(opened+out.String(), testToken) {
			t.Errorf("%s: opened %q, printed\n%s", name, opened, out.String())
		}
		for url, life := range map[string]time.Duration{opened: openedLife, printed: codeLife} {
			if url == "" {
				continue
			}
			_, code, _ := strings.Cut(url, "code=")
			if kept, err := p.Stores.Access.Token(t.Context(), ids.Hash(code)); err != nil || !kept.ExpiresAt.Equal(now.Add(life)) || kept.Parent != ids.Hash(testToken) {
				t.Errorf("%s: %+v, %v", name, kept, err)
			}
		}
	}
}

// TestGreetingIsInOneLanguage has each line in both languages.
func TestGreetingIsInOneLanguage(t *testing.T) {
	for lang, c := range map[string]struct{ has, lacks string }{
		"es": {"Abrir|Token|Modelo|Datos|Registro|Prueba", "Open|Model |Data|Try"},
		"en": {"Open|Token|Model|Data|Log|Try", "Abrir|Modelo|Datos|Registro|Prueba"},
	} {
		p, _, _, _ := deploy(t, Settings{Demo: true})
		p.Person.Lang = locale.Tag(lang)
		var out bytes.Buffer
		if err := p.greet(t.Context(), &out, testToken, "kept"); err != nil {
			t.Fatal(err)
		}
		for word := range strings.SplitSeq(c.has, "|") {
			if !strings.Contains(out.String(), "\n  "+word) {
				t.Errorf("%s: no %q in\n%s", lang, word, out.String())
			}
		}
		for word := range strings.SplitSeq(c.lacks, "|") {
			if strings.Contains(out.String(), "\n  "+word) {
				t.Errorf("%s: %q in\n%s", lang, word, out.String())
			}
		}
	}
}
