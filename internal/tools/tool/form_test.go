package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"piloto/internal/ground/fault"
)

func TestFormsAreWrittenAsTheDocumentEncodesThem(t *testing.T) {
	cases := []struct {
		e           Encoding
		value, want string
	}{
		{Encoding{}, `1.50`, "a=1.50"},
		{Encoding{}, `"x y&z"`, "a=x+y%26z"},
		{Encoding{}, `true`, "a=true"},
		{Encoding{}, `[]`, ""},
		{Encoding{}, `["x","y"]`, "a=x&a=y"},
		{Encoding{}, `[{"b":1},{"b":2}]`, "a=%7B%22b%22%3A1%7D&a=%7B%22b%22%3A2%7D"},
		{Encoding{}, `{"b":1}`, "a=%7B%22b%22%3A1%7D"},
		{Encoding{Style: "form", Explode: true}, `["x","y"]`, "a=x&a=y"},
		{Encoding{Style: "form", Explode: true}, `{"b":1,"c":"d"}`, "b=1&c=d"},
		{Encoding{Style: "form"}, `["x","y,z"]`, "a=x,y%2Cz"},
		{Encoding{Style: "form"}, `{"b":1,"c":"d"}`, "a=b,1,c,d"},
		{Encoding{Style: "spaceDelimited"}, `[1,2]`, "a=1%202"},
		{Encoding{Style: "pipeDelimited"}, `[1,2]`, "a=1%7C2"},
		{Encoding{Style: "tabDelimited"}, `[1,2]`, "a=1%092"},
		{Encoding{Style: "pipeDelimited", Explode: true}, `[1,2]`, "a=1&a=2"},
		{Encoding{Style: "deepObject", Explode: true}, `{"b":1,"c":{"d":["e","f"]}}`, "a%5Bb%5D=1&a%5Bc%5D%5Bd%5D%5B%5D=e&a%5Bc%5D%5Bd%5D%5B%5D=f"},
		{Encoding{Style: "json"}, `["x"]`, "a=%5B%22x%22%5D"},
	}
	for _, c := range cases {
		o := op("POST", "/x")
		o.Body = &Body{MediaType: formMedia, Schema: json.RawMessage("{}"), Encoding: map[string]Encoding{"a": c.e}}
		r, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(`{"a":` + c.value + `}`)})
		if err != nil || string(r.Body) != c.want || r.Header["Content-Type"] != formMedia {
			t.Errorf("%+v %s: %s %v, want %s", c.e, c.value, r.Body, err, c.want)
		}
	}
}

// readParts reads a body as a server does: "name (type): value" of each part.
func readParts(t *testing.T, r Request) string {
	t.Helper()
	media, parameters, err := mime.ParseMediaType(r.Header["Content-Type"])
	if err != nil || media != partsMedia {
		t.Fatalf("%s %v", r.Header["Content-Type"], err)
	}
	var parts []string
	for reader := multipart.NewReader(bytes.NewReader(r.Body), parameters["boundary"]); ; {
		part, err := reader.NextPart()
		if err == io.EOF {
			return strings.Join(parts, "; ")
		}
		if err != nil {
			t.Fatal(err)
		}
		value, err := io.ReadAll(part)
		if err != nil || part.FileName() != "" {
			t.Fatalf("%v %q", err, part.FileName())
		}
		parts = append(parts, fmt.Sprintf("%s (%s): %s", part.FormName(), part.Header.Get("Content-Type"), value))
	}
}

func TestPartsAreWrittenAsTheDocumentEncodesThem(t *testing.T) {
	o := op("POST", "/x")
	o.Body = &Body{MediaType: partsMedia, Schema: json.RawMessage("{}"), Encoding: map[string]Encoding{
		"csv": {Style: "form"}, "all": {Style: "json", Media: "application/json"}, "page": {Media: "text/html"}, "deep": {Style: "deepObject"},
	}}
	cases := []struct{ body, want string }{
		{`{}`, ""},
		{`{"to":"b@example.com","text":"hola\r\n--x & más"}`, "to (): b@example.com; text (): hola\r\n--x & más"},
		{`{"n":12345678901234567890,"b":true,"x":""}`, "n (): 12345678901234567890; b (): true; x (): "},
		{`{"tags":["a","b"]}`, "tags (): a; tags (): b"},
		{`{"o":{"k":"v"},"l":[{"k":1}]}`, `o (application/json): {"k":"v"}; l (application/json): {"k":1}`},
		{`{"csv":["a","b"],"all":["a"],"page":"<p>","deep":{"k":[1]}}`, `csv (): a,b; all (application/json): ["a"]; page (text/html): <p>; deep[k][] (): 1`},
	}
	for _, c := range cases {
		a := Arguments{Path: "/x", Body: json.RawMessage(c.body)}
		r, err := Build(base, o, a)
		if err != nil {
			t.Fatal(err)
		}
		if got := readParts(t, r); got != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
		again, err := Build(base, o, a)
		if err != nil || !bytes.Equal(again.Body, r.Body) || again.Header["Content-Type"] != r.Header["Content-Type"] {
			t.Errorf("%s: the second attempt sends other bytes", c.body)
		}
	}
	r, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(`{"a\"; filename=\"x\r\nb":"1"}`)})
	if err != nil || strings.Contains(string(r.Body), "\nb") || strings.Contains(string(r.Body), ` filename="`) {
		t.Errorf("%q %v", r.Body, err)
	}
}

// TestEachPartHasItsHeaders: the headers that a document requires of a part stand in each part of the member, and their values do
// not decide where a part ends.
func TestEachPartHasItsHeaders(t *testing.T) {
	o := op("POST", "/x")
	o.Body = &Body{MediaType: partsMedia, Schema: json.RawMessage("{}"), Encoding: map[string]Encoding{
		"a": {Headers: map[string]string{"Content-ID": "m1", "X-Part": "d"}}, "p": {Media: "text/plain"},
	}}
	r, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(`{"a":["1",{"k":2}],"p":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Content-Disposition: form-data; name=\"a\"\r\nContent-ID: m1\r\nX-Part: d\r\n\r\n1\r\n",
		"Content-Disposition: form-data; name=\"a\"\r\nContent-ID: m1\r\nContent-Type: application/json\r\nX-Part: d\r\n\r\n{\"k\":2}\r\n",
		"Content-Disposition: form-data; name=\"p\"\r\n\r\nx\r\n",
	} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%q has no %q", r.Body, want)
		}
	}
	before := Fingerprint("https://a.example", o)
	o.Body.Encoding["a"] = Encoding{Headers: map[string]string{"Content-ID": "m2", "X-Part": "d"}}
	if Fingerprint("https://a.example", o) == before {
		t.Error("another header is another operation")
	}
	for _, h := range [][2]string{{"X-A", "a\nb"}, {"X-A", ""}, {"X A", "a"}, {"Content-Type", "a"}, {"content-length", "1"}, {"Content-Disposition", "a"}, {"Content-Transfer-Encoding", "base64"}} {
		if MayHeadPart(h[0], h[1]) {
			t.Errorf("a part may have %q", h)
		}
	}
}

// TestWhatIsNoTextIsNotSentAsOne: a member in a type of texts is a text, and what is joined has no pieces in its pieces. Neither
// is proposed, and the first is not built either.
func TestWhatIsNoTextIsNotSentAsOne(t *testing.T) {
	for _, media := range []string{formMedia, partsMedia} {
		o := op("POST", "/x")
		o.Body = &Body{MediaType: media, Schema: json.RawMessage("{}"), Encoding: map[string]Encoding{
			"x": {Media: "application/xml"}, "p": {Media: "text/plain"}, "j": {Style: "pipeDelimited"}, "f": {Style: "form"}, "d": {Style: "deepObject"}, "h": {Headers: map[string]string{"X-A": "1"}},
		}}
		for body, want := range map[string]string{
			`{"x":"<a/>","p":7}`:          "",
			`{"x":["<a/>",true]}`:         "",
			`{"x":"${s1.body.x}"}`:        "",
			`{"x":{"a":"1"}}`:             "/body/x problem.text_body",
			`{"p":{"a":"1"}}`:             "/body/p problem.text_body",
			`{"x":["<a/>",["b"]]}`:        "/body/x/1 problem.text_body",
			`{"j":{"a":"b|c"}}`:           "/body/j/a problem.separator.pipe",
			`{"j":{"a|b":"c"}}`:           "/body/j/a|b problem.separator.pipe",
			`{"j":["a","${s1.body.x}"]}`:  "",
			`{"j":["a",{"b":1}]}`:         "/body/j/1 problem.separator.piece",
			`{"f":{"a":["b"]}}`:           "/body/f/a problem.separator.piece",
			`{"d":{"a":[{"b":1}],"c":1}}`: "",
			`{"h":[{"a":"1, 2"},"x,y"]}`:  "",
		} {
			got := ""
			if problems := o.Check(anySchema{}, Arguments{Path: "/x", Body: json.RawMessage(body)}); len(problems) > 0 {
				got = problems[0].Loc + " " + problems[0].Why.Code
			}
			if got != want {
				t.Errorf("%s %s: %q, want %q", media, body, got, want)
			}
			if _, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(body)}); (err != nil) != strings.HasSuffix(want, "text_body") {
				t.Errorf("%s %s: built with %v", media, body, err)
			}
		}
	}
}

func TestTextsAreSentAsTheyAre(t *testing.T) {
	o := op("POST", "/x")
	for _, c := range []struct{ media, body, want string }{
		{"text/plain", `"hola\n"`, "hola\n"},
		{"text/plain; charset=utf-8", `"ñ"`, "ñ"},
		{"text/plain", `12`, "12"},
		{"application/xml", `"<a/>"`, "<a/>"},
		{"application/vnd.x+json; version=2", `{"a":1}`, `{"a":1}`},
		{"application/json-patch+json", `[{"op":"remove","path":"/a"}]`, `[{"op":"remove","path":"/a"}]`},
	} {
		o.Body = &Body{MediaType: c.media, Schema: json.RawMessage("{}")}
		r, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(c.body)})
		if err != nil || string(r.Body) != c.want || r.Header["Content-Type"] != c.media {
			t.Errorf("%s: %q %v %v", c.media, r.Body, r.Header, err)
		}
	}
	o.Body = &Body{MediaType: "text/plain", Schema: json.RawMessage("{}")}
	if _, err := Build(base, o, Arguments{Path: "/x", Body: json.RawMessage(`{"a":1}`)}); err == nil {
		t.Error("an object is no text")
	}
}

func TestTheEncodingOfAFormIsPartOfItsFingerprint(t *testing.T) {
	o := op("POST", "/x")
	o.Body = &Body{MediaType: formMedia, Schema: json.RawMessage("{}")}
	before := Fingerprint("https://a.example", o)
	o.Body.Encoding = map[string]Encoding{"a": {Style: "form"}}
	encoded := Fingerprint("https://a.example", o)
	o.Refused = &Refusal{Reason: RefusedFile, What: "a"}
	if refused := Fingerprint("https://a.example", o); before == encoded || encoded == refused {
		t.Error("another encoding is another operation")
	}
}

func TestARefusedOperationIsNotCalled(t *testing.T) {
	refused := Entry{Method: "POST", Path: "/files/{id}", Refused: &Refusal{Reason: RefusedFile, What: "photo"}}
	list := []Entry{refused, {Method: "POST", Path: "/files/{id}/name"}}
	_, _, err := Match(list, "POST", "/files/1")
	if f := fault.Of(err); !errors.Is(err, ErrRefused) || f.Args["reason"] != "file" || f.Args["what"] != "photo" || f.Args["operation"] != "POST /files/{id}" {
		t.Errorf("%v %v", err, f.Args)
	}
	if e, _, err := Match(list, "POST", "/files/1/name"); err != nil || e.Path != list[1].Path {
		t.Errorf("%v %v", e, err)
	}
}
