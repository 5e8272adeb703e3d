package paper

import (
	"bytes"
	"compress/zlib"
	"flag"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"piloto/internal/conversation"
)

var out = flag.String("out", "", "a file to leave the sample document in")

var (
	streams = regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`)
	shows   = regexp.MustCompile(`(?s)\(((?:\\.|[^\\)])*)\) ?Tj`)
	escapes = regexp.MustCompile(`(?s)\\(.)`)
)

// read returns the texts of a PDF file, a line for each piece, and the number of its pages.
func read(t *testing.T, file []byte) (string, int) {
	t.Helper()
	var b strings.Builder
	for _, m := range streams.FindAllSubmatch(file, -1) {
		raw := m[1]
		if r, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			if raw, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range shows.FindAllSubmatch(raw, -1) {
			text := escapes.ReplaceAllFunc(s[1], func(e []byte) []byte {
				if e[1] == 'r' {
					return []byte{'\r'}
				}
				return e[1:]
			})
			units := make([]uint16, 0, len(text)/2)
			for i := 0; i+1 < len(text); i += 2 {
				units = append(units, uint16(text[i])<<8|uint16(text[i+1]))
			}
			b.WriteString(string(utf16.Decode(units)) + "\n")
		}
	}
	return b.String(), len(regexp.MustCompile(`/Type /Page\b`).FindAll(file, -1))
}

func sample() conversation.Paper {
	return conversation.Paper{
		Lang: "es", Title: "Salas de reunión: ¿qué cuesta mañana?", At: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC),
		Notes: []string{"Exportado el 2026-11-27 10:00:00 CET."},
		Entries: []conversation.PaperEntry{
			{Author: "Tú", Time: "2026-11-27 09:58:00 CET", Text: "**Tal cual**: ñandú, 30 €\n  y su segunda línea"},
			{Author: "Piloto", Time: "2026-11-27 09:58:03 CET", Markdown: true, Above: []string{"Aviso: No se ha ejecutado nada desde tu mensaje.", "Aviso: No está en los resultados: " + strings.Repeat("30 €, ", 40)}, Notes: []string{"Salas: GET https://salas.example/rooms (200)", "Valoración: buena. Falta el IVA"}, Text: "## Resumen\n\nLa **Sala Norte** cuesta 30 €/h; mira `GET /rooms` y [el plano](https://salas.example/plano).\n\n" +
				"- Norte\n  - con pantalla\n1. Primero\n\n> Una cita de España\n\n```go\nfmt.Println(\"año\")\n\treturn\n```\n\n| Sala | €/h |\n|---|---:|\n| Norte | 30 |\n| Sala del sótano | 5 |\n\n---\nFin 👍 漢."},
			{Author: "Piloto", Time: "2026-11-27 09:59:00 CET", Text: "Plan propuesto\n1. Crea una reserva de sala\n   POST https://salas.example/reservations {\"room\":\"norte\"}"},
		},
	}
}

func TestADocumentHasItsTexts(t *testing.T) {
	file, err := Print(sample())
	if err != nil {
		t.Fatal(err)
	}
	if *out != "" {
		if err := os.WriteFile(*out, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, pages := read(t, file)
	flat := strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"Salas de reunión: ¿qué cuesta mañana?", "**Tal cual**: ñandú, 30 €", "Resumen", "Sala Norte", "GET /rooms", "el plano (https://salas.example/plano)",
		"• Norte", "con pantalla", "1. Primero", "Una cita de España", `fmt.Println("año")`, "Sala €/h", "Sala del sótano 5", "Fin \ufffd \ufffd.", "1. Crea una reserva de sala",
		"Falta el IVA", "1 / 1", "CET",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if warned, said := strings.Index(flat, "Aviso: No se ha ejecutado nada desde tu mensaje."), strings.Index(flat, "Resumen"); warned < 0 || said < warned {
		t.Errorf("what contradicts a text does not stand above it:\n%s", text)
	}
	for _, not := range []string{"## ", "```", "|---", "`GET"} {
		if strings.Contains(text, not) {
			t.Errorf("it has %q:\n%s", not, text)
		}
	}
	if pages != 1 || !bytes.HasPrefix(file, []byte("%PDF-")) {
		t.Errorf("%d pages", pages)
	}
}

// TestAnyTextIsPrinted: nothing that a person or a model writes fails, and all of it is in the document.
func TestAnyTextIsPrinted(t *testing.T) {
	if testing.Short() {
		t.Skip("twenty documents")
	}
	for name, text := range map[string]string{
		"nothing":       "",
		"controls":      "a\x00b\x1b[31m\u202e\u200bc\r\nd\te",
		"above U+FFFF":  "😀𝔸\U0010ffff",
		"not UTF-8":     "a\xff\xfeb",
		"an open fence": "```\nx",
		"only marks":    "#\n-\n>\n|\n||\n***\n``\n[]()",
		"a long word":   strings.Repeat("x", 5000),
		"parentheses":   `\(()\\)`,
		"deep":          strings.Repeat(" ", 500) + "- x",
		"wide":          "| " + strings.Repeat("columna | ", 100),
	} {
		for _, markdown := range []bool{true, false} {
			file, err := Print(conversation.Paper{Title: text, Entries: []conversation.PaperEntry{{Author: "a", Text: text, Markdown: markdown}}})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, _ := read(t, file); strings.Count(got, "x") < strings.Count(text, "x") {
				t.Errorf("%s: %d of %d characters", name, strings.Count(got, "x"), strings.Count(text, "x"))
			}
		}
	}
}

// TestALongDocumentHasNumberedPages: its lines end within the page.
func TestALongDocumentHasNumberedPages(t *testing.T) {
	d := sample()
	for range 200 {
		d.Entries = append(d.Entries, d.Entries[1])
	}
	file, err := Print(d)
	if err != nil {
		t.Fatal(err)
	}
	text, pages := read(t, file)
	if pages < 40 || strings.Count(text, " / ") < pages || !strings.Contains(text, "40 / ") {
		t.Errorf("%d pages", pages)
	}
}

func TestBlocksOfMarkdown(t *testing.T) {
	got := blocksOf("uno\ndos\n\n# T #\n* a\n    - b\n12) c\n~~~\n# no\n~~~\n|a|b|\n|-|-|\n|largo|x|\n> q\n> r\nfin")
	want := []block{
		{kind: paragraph, text: "uno\ndos"},
		{kind: heading, level: 1, text: "T"},
		{kind: item, mark: "•", text: "a"},
		{kind: item, level: 2, mark: "•", text: "b"},
		{kind: item, mark: "12)", text: "c"},
		{kind: code, text: "# no"},
		{kind: code, text: "a      b\nlargo  x"},
		{kind: quote, text: "q\nr"},
		{kind: paragraph, text: "fin"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func BenchmarkPrint4MB(b *testing.B) {
	d := conversation.Paper{Title: "t"}
	text := strings.Repeat("La sala **Norte** cuesta 30 € por hora, y está libre mañana. ", 200)
	for size := 0; size < 4<<20; size += len(text) {
		d.Entries = append(d.Entries, conversation.PaperEntry{Author: "Piloto", Text: text, Markdown: true})
	}
	b.ReportAllocs()
	for b.Loop() {
		file, err := Print(d)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(file)), "bytes/file")
	}
}
