package webui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	pictures "image"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"piloto/internal/ground/locale"
	"piloto/internal/ground/ref"
	"piloto/internal/ground/render"
	"piloto/internal/runs/plan"
)

func bare(text render.HTML) string { return markup.ReplaceAllString(string(text), "") }

// told returns a legible form as one line.
func told(r *legible) string {
	if r == nil {
		return "as it is"
	}
	var parts []string
	for _, f := range r.Fields {
		parts = append(parts, bare(f.Name)+"="+bare(f.Value.Text))
	}
	for _, v := range r.List {
		parts = append(parts, bare(v.Text))
	}
	for _, t := range r.Tables {
		var names []string
		for _, n := range t.Names {
			names = append(names, bare(n))
		}
		parts = append(parts, fmt.Sprintf("%s[%s]%d of %d", bare(t.Name), strings.Join(names, " "), len(t.Rows), t.Total))
	}
	return strings.Join(parts, "; ")
}

func TestAnswersAreReadAsPeopleDo(t *testing.T) {
	long := strings.Repeat("a", 500)
	wide := []string{}
	for i := range 100 {
		wide = append(wide, fmt.Sprintf(`"c%d":%d`, i, i))
	}
	for _, c := range []struct {
		body, want string
		cut        bool
	}{
		{`{"id":"r-1","paid":true,"price":12.5,"at":"2026-03-06T10:00:00Z","note":null}`, "id=r-1; paid=sí; Importe=12,5; at=viernes 6 de marzo, 10:00 UTC; note=vacío", false},
		{`{"a":{"b":{"c":{"d":1}}},"e":1}`, "e=1", true},
		{`{"total":2,"items":[{"id":1,"name":"x"},{"id":2,"extra":{"y":1}}],"tags":["a","b"],"none":[]}`, "total=2; tags=a, b; none=vacío; items[id Nombre extra]2 of 2", true},
		{`[{"id":1},{"id":2}]`, "[id]2 of 2", false},
		{`["a","b"]`, "a; b", false},
		{`[[1],2]`, "as it is", false},
		{`[]`, "as it is", false},
		{`{}`, "as it is", false},
		{`"text"`, "as it is", false},
		{`7`, "as it is", false},
		{``, "as it is", false},
		{`{"a":`, "as it is", false},
		{`{"link":"javascript:alert(1)","html":"<img src=x>"}`, "link=javascript:alert(1); html=&lt;img src=x&gt;", false},
		{`{"text":"` + long + `"}`, "text=" + long[:160] + "…", false},
		{`[{` + strings.Join(wide, ",") + `}]`, "[c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 c10 c11]1 of 1", true},
		{`{"\u202e":"x"}`, "⟦U+202E⟧=x", false},
		{`{"of":{"price":3}}`, "of Importe=3", false},
	} {
		r := words{tag: locale.Spanish}.read(json.RawMessage(c.body), []ref.Named{{Name: "price", Label: "Importe"}, {Name: "name", Label: "Nombre"}}, 0, resultShown, noon)
		if got := told(r); got != c.want || r != nil && r.Cut != c.cut {
			t.Errorf("%.80s:\n%s, cut %v; want\n%s", c.body, got, r != nil && r.Cut, c.want)
		}
	}
}

// TestLargeAnswersAreReadInParts: fifty rows, and as many bytes as there is room for; the next ones follow without a gap.
func TestLargeAnswersAreReadInParts(t *testing.T) {
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"text":"%s"}`, i, strings.Repeat("é", 60)))
	}
	body := json.RawMessage("[" + strings.Join(rows, ",") + "]")
	for _, room := range []int{500, resultShown} {
		seen := 0
		for seen < 1000 {
			table := words{tag: locale.Spanish}.read(body, nil, seen, room, noon).Tables[0]
			size := 0
			for i, row := range table.Rows {
				if bare(row[0].Text) != fmt.Sprint(seen+i) {
					t.Fatalf("row %d is %s", seen+i, row[0].Text)
				}
				size += len(row[0].Text) + len(row[1].Text)
			}
			if len(table.Rows) == 0 || len(table.Rows) > rowsShown || size > room+300 || table.next()+table.rest() != 1000 {
				t.Fatalf("%d rows of %d bytes from %d", len(table.Rows), size, seen)
			}
			seen = table.next()
		}
	}
	if (words{}).read(json.RawMessage("["+strings.Repeat(`{"a":1},`, 60_000)+`{"a":1}]`), nil, 0, resultShown, noon) != nil {
		t.Error("a value of any size is read")
	}
}

func TestTheRowsOfAnAnswerAreServedByPages(t *testing.T) {
	w := newWorld(at(noon), Facts{})
	r := draft(roomPlan(noon))
	r.ID, r.Status = fixedID, plan.Done
	r.Steps = []plan.StepState{{StepID: plan.EffectOf("s1"), Status: plan.StepDone, Result: &plan.Result{Status: 200, Body: json.RawMessage("[" + strings.Repeat(`{"n":1},`, 99) + `{"n":2}]`)}}}
	w.runs[fixedID] = r
	page := get(t, w.page, "/ui/runs/"+fixedID, ana).Body.String()
	if !strings.Contains(page, `data-of="/ui/runs/`+fixedID+`/rows/s1?table=0&amp;from=50"`) {
		t.Errorf("the card has no more rows:\n%s", page)
	}
	if rest := get(t, w.page, "/ui/runs/"+fixedID+"/rows/s1?table=0&from=50", ana).Body.String(); strings.Count(rest, "<tr>") != 50 || strings.Contains(rest, "more-rows") {
		t.Errorf("the rest:\n%s", rest)
	}
	for _, path := range []string{"s1?table=1", "s1?table=-1", "s1?from=x", "s2", "s9", "%20"} {
		if got := get(t, w.page, "/ui/runs/"+fixedID+"/rows/"+path, ana); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	if got := get(t, w.page, "/ui/runs/none/rows/s1", ana); got.Code != http.StatusNotFound {
		t.Errorf("no run: %d", got.Code)
	}
}

// TestOnlyImagesAreShownAsImages: by their bytes, whatever their declared type, and only small ones.
func TestOnlyImagesAreShownAsImages(t *testing.T) {
	encode := func(w, h int) string {
		var b bytes.Buffer
		_ = png.Encode(&b, pictures.NewGray(pictures.Rect(0, 0, w, h)))
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	if got := picture(encode(2, 2)); !strings.HasPrefix(got, "data:image/png;base64,iVBOR") {
		t.Errorf("an image is %q", got)
	}
	for text, want := range map[string]bool{
		"data:image/png;base64," + encode(2, 2): true, "data:image/svg+xml;base64," + encode(2, 2): true, "see data:image/png;base64," + encode(2, 2): false,
		"data:image/png;base64,PHN2Zz4=": false, "data:text/html;base64," + encode(2, 2): false,
	} {
		read := words{tag: locale.Spanish, now: time.Now}.read(json.RawMessage(`{"photo":"`+text+`"}`), nil, 0, 1<<20, noon)
		if image := read.Fields[0].Value.Image; (image != "") != want || want && !strings.HasPrefix(image, "data:image/png;base64,") {
			t.Errorf("%.40s: %.40q", text, image)
		}
	}
	for name, data := range map[string]string{
		"none": "", "no base64": "%%%", "a text": base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>")), "too wide": encode(5000, 1),
		"too large": strings.Repeat("A", largestImage*2), "cut": encode(2, 2)[:40],
	} {
		if got := picture(data); got != "" && name != "cut" || name == "cut" && strings.Contains(got, "svg") {
			t.Errorf("%s is shown: %.60s", name, got)
		}
	}
}
