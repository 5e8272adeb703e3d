package run

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/runs/plan"
)

func TestFinalMessageBeginsWithHowItEnded(t *testing.T) {
	source, at := ids.NewSource(rand.Reader), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	step := func(id string) plan.Step { return plan.Step{ID: plan.EffectOf(id), Title: id} }
	several := []plan.Step{step("s1"), step("s2")}
	failure := &plan.Failure{Message: "Motivo."}
	for _, c := range []struct {
		tag     locale.Tag
		to      plan.Status
		steps   []plan.Step
		failure *plan.Failure
		want    string
	}{
		{"es", plan.Done, several[:1], nil, "✅ Hecho: «Reservar»."},
		{"es", plan.Done, several, nil, "✅ Hecho: «Reservar» (1 de 2 pasos)."},
		{"es", plan.Failed, several, failure, "❌ No se completó: «Reservar» (1 de 2 pasos). Motivo."},
		{"es", plan.InDoubt, several, failure, "❓ En duda: «Reservar» (1 de 2 pasos). Motivo."},
		{"es", plan.Cancelled, several, nil, "🛑 Parado: «Reservar» (1 de 2 pasos). Lo que quedaba no se ha ejecutado."},
		{"en", plan.Done, several[:1], nil, "✅ Done: “Reservar”."},
		{"en", plan.Failed, several[:1], failure, "❌ Not completed: “Reservar”. Motivo."},
		{"en", plan.InDoubt, several, failure, "❓ In doubt: “Reservar” (1 of 2 steps). Motivo."},
		{"en", plan.Cancelled, several, nil, "🛑 Stopped: “Reservar” (1 of 2 steps). What was left was not run."},
	} {
		r := plan.Run{ID: "r", Locale: string(c.tag), Plan: plan.Plan{Goal: "Reservar", Steps: c.steps}, Steps: []plan.StepState{{StepID: plan.EffectOf("s1"), Status: plan.StepDone}}}
		if len(c.steps) > 1 {
			r.Steps = append(r.Steps, plan.StepState{StepID: plan.EffectOf("s2"), Status: plan.StepCancelled})
		}
		if _, final := (ending{run: r, to: c.to, failure: c.failure, data: map[string]any{}}).move(source, at); strings.Split(final.Content, "\n")[0] != c.want {
			t.Errorf("%s %s: %q, want %q", c.tag, c.to, final.Content, c.want)
		}
	}
}

func TestSummaryIsTableOfAskedFields(t *testing.T) {
	names := []ref.Named{
		{Name: "title", Label: "título"},
		{Name: "date", Label: "fecha"},
		{Name: "start", Label: "inicio"},
		{Name: "room_id", Label: "id de la sala"},
		{Name: "name", Label: "nombre"},
		{Name: "price", Label: "precio"},
		{Name: "capacity", Label: "capacidad"},
		{Name: "nothing"},
	}
	image := "iVBORw0KGgo" + strings.Repeat("A", 16<<10-11)
	for name, c := range map[string]struct{ body, asked, want string }{
		"a thing": {
			`{"id":"r-1","path":"/reservations/r-1","room_id":"este","date":"2026-11-21","start":"10:00","title":"Reunión"}`, "Reserva la sala",
			"| Dato | Valor |\n|---|---|\n| título | Reunión |\n| fecha | 2026-11-21 |\n| inicio | 10:00 |\n| id | r-1 |\n| id de la sala | este |",
		},
		"what was asked for is first": {
			`{"id":7,"name":"Sala Este","capacity":8,"price":20.50}`, "¿Cuánto es el precio?",
			"| Dato | Valor |\n|---|---|\n| precio | 20.50 |\n| nombre | Sala Este |\n| capacidad | 8 |\n| id | 7 |",
		},
		"a list": {
			`{"items":[{"id":"n1","name":"Sala Norte","price":30},{"id":"e1","name":"Sala Este","price":20}],"total":2}`, "salas",
			"2 resultados:\n\n| nombre | precio | id |\n|---|---|---|\n| Sala Norte | 30 | n1 |\n| Sala Este | 20 | e1 |",
		},
		"a long list": {`[1,2,3,4,5,6,7]`, "", "7 resultados:\n\n- 1\n- 2\n- 3\n- 4\n- 5\n\n… y 2 más"},
		"an order with its items": {
			`{"id":"p-1","total":"12,50","items":[{"sku":"a"},{"sku":"b"}],"tags":["x","y"],"paid":true}`, "",
			"| Dato | Valor |\n|---|---|\n| total | 12,50 |\n| items | 2 elementos |\n| tags | x, y |\n| paid | sí |\n| id | p-1 |",
		},
		"an object in it": {`{"data":{"customer":{"name":"Eva"},"amount":3}}`, "", "| Dato | Valor |\n|---|---|\n| customer nombre | Eva |\n| amount | 3 |"},
		"a tool's answer": {
			`{"content":[{"type":"text","text":"{\"title\":\"Nota\"}"}]}`, "", "| Dato | Valor |\n|---|---|\n| título | Nota |",
		},
		"structured":       {`{"content":[],"structuredContent":{"title":"Nota"}}`, "", "| Dato | Valor |\n|---|---|\n| título | Nota |"},
		"a text":           {`"hecho"`, "", "hecho"},
		"bytes":            {`"\u0000\u0001\u0002\u0003abc\ufffd\ufffd\ufffd"`, "", "datos binarios"},
		"another encoding": {`["Espa\ufffda","Ni\ufffdo"]`, "", "2 resultados:\n\n- Espa\ufffda\n- Ni\ufffdo"},
		"bytes within": {
			`{"name":"logo","raw":"\u0089PNG\r\n\u001a\n\u0000\u0000\u0000\rIHDR"}`, "", "| Dato | Valor |\n|---|---|\n| nombre | logo |\n| raw | datos binarios |",
		},
		"a stray sign": {`{"name":"Sala\u001b[31m Este de siempre\u0000, la de arriba"}`, "", "| Dato | Valor |\n|---|---|\n| nombre | Sala\\[31m Este de siempre, la de arriba |"},
		"a picture":    {`{"name":"logo","data":"` + image + `"}`, "", "| Dato | Valor |\n|---|---|\n| nombre | logo |\n| data | imagen de 12 KB |"},
		"a page":       {`"<html><body>hola</body></html>"`, "", "texto con código de página, de 30 bytes"},
		"signs":        {`{"name":"a|b *c* _d_ e_f [x](y)\nz"}`, "", `| Dato | Valor |` + "\n|---|---|\n" + `| nombre | a\|b \*c\* \_d\_ e_f \[x\](y) z |`},
		"nothing":      {`{}`, "", ""},
		"null":         {`null`, "", ""},
		"no list":      {`{"items":[]}`, "", "0 resultados:"},
	} {
		if got := describe(json.RawMessage(c.body), wordsOf(c.asked), names).In(locale.Spanish); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestTheWordsOfADocumentAreTextInASummary(t *testing.T) {
	names := []ref.Named{{Name: "unit_price", Label: "Price | <b>each</b>\n# *now*"}}
	got := describe(json.RawMessage(`{"unit_price":3,"net_price":2}`), nil, names).In(locale.English)
	if want := "| Field | Value |\n|---|---|\n| Price \\| \\<b\\>each\\</b\\> # \\*now\\* | 3 |\n| net price | 2 |"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestBytesAndMarkupAreNeverPrinted(t *testing.T) {
	bytes := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x01\x7f", 200)))
	for _, value := range []string{
		bytes, "data:image/png;base64,iVBOR", "data:application/pdf;base64," + bytes, bytes[:76] + "\n" + bytes[76:], "<p>hola</p>", "<!doctype html>",
		"<script>x</script>", "texto <img src=x>",
	} {
		raw, err := json.Marshal(map[string]any{"value": value, "list": []string{value}, "inner": map[string]string{"deep": value}})
		if err != nil {
			t.Fatal(err)
		}
		for _, tag := range []locale.Tag{locale.Spanish, locale.English} {
			text := describe(raw, nil, nil).In(tag)
			if strings.Contains(text, value) || strings.Contains(text, "<") || strings.Contains(text, bytes[:20]) {
				t.Errorf("%s: %s", tag, text)
			}
		}
	}
	for _, value := range []string{"3 < 4 > 2", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855e3b0c44298fc1c149afbf4c8996fb924", "Una frase que es larga y no tiene más que palabras separadas por espacios, como todas"} {
		if unprintedOf(value) != nil {
			t.Errorf("%q is not printed", value)
		}
	}
}

// A HEAD has no body: its result are its headers.
func TestSummaryOfAHeadHasItsHeaders(t *testing.T) {
	s := plan.Step{ID: plan.EffectOf("s1"), Method: "HEAD", Path: "/only", Title: "Tamaño"}
	r := plan.Run{Plan: plan.Plan{Steps: []plan.Step{s}}, Steps: []plan.StepState{
		{StepID: s.ID, Status: plan.StepDone, Result: &plan.Result{Status: 200, Headers: map[string]string{"Content-Length": "731"}}},
	}}
	if got := summary(r).In(locale.Spanish); !strings.Contains(got, "Content-Length") || !strings.Contains(got, "731") {
		t.Error(got)
	}
}
