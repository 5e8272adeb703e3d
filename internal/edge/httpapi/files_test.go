package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/unicode/norm"

	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
)

const filesPath = "/api/projects/" + projectID + "/files"

var projectFiles = files.Place{Account: "a", Project: projectID}

// png is the beginning of an image.
const png = "\x89PNG\r\n\x1a\nxxxx"

func (s *site) put(name, content string, headers ...string) *httptest.ResponseRecorder {
	return s.do(ask(talker, "PUT", filesPath+"/"+name, content, headers...))
}

// mustPut writes a new file and returns its version.
func mustPut(t *testing.T, s *site, name, content string) string {
	t.Helper()
	w := s.put(name, content, "If-None-Match", "*")
	if w.Code != http.StatusCreated {
		t.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
	return fmt.Sprint(decode(t, w)["version"])
}

func code(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	return fmt.Sprint(decode(t, w)["code"])
}

func TestAFileIsWrittenReadListedAndDeleted(t *testing.T) {
	s := newSite()
	version := mustPut(t, s, "docs/n%C3%B3tes%20100%25.txt", "ñandú\n")
	w := s.do(ask(talker, "GET", filesPath+"/docs/n%C3%B3tes%20100%25.txt", ""))
	if w.Code != 200 || w.Body.String() != "ñandú\n" || w.Header().Get("ETag") != `"`+version+`"` || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	var list FileList
	if err := json.Unmarshal(s.do(ask(talker, "GET", filesPath, "")).Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Files) != 2 || list.Files[1].Path != "docs/nótes 100%.txt" || list.Bytes != 5+8 || list.Version == "" {
		t.Errorf("%+v", list)
	}
	second := s.put("docs/n%C3%B3tes%20100%25.txt", "two", "If-Match", `"`+version+`"`)
	if second.Code != 200 || second.Header().Get("ETag") == "" {
		t.Errorf("%d %s", second.Code, second.Body)
	}
	w = s.do(ask(talker, "GET", filesPath+"/docs/n%C3%B3tes%20100%25.txt?version="+version, ""))
	if w.Code != 200 || w.Body.String() != "ñandú\n" {
		t.Errorf("an earlier version: %d %q", w.Code, w.Body)
	}
	w = s.do(ask(talker, "GET", "/api/projects/"+projectID+"/versions/docs/n%C3%B3tes%20100%25.txt", ""))
	if n := len(listOf(decode(t, w)["versions"])); w.Code != 200 || n != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	now := fmt.Sprint(decode(t, second)["version"])
	w = s.do(ask(talker, "POST", "/api/projects/"+projectID+"/restore", `{"path":"docs/nótes 100%.txt","version":"`+version+`","if_match":"`+now+`"}`))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	restored := fmt.Sprint(decode(t, w)["version"])
	for _, c := range []struct {
		tag  string
		want int
	}{{now, 412}, {restored, 204}, {restored, 404}} {
		if w := s.do(ask(talker, "DELETE", filesPath+"/docs/n%C3%B3tes%20100%25.txt", "", "If-Match", `"`+c.tag+`"`)); w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.tag, w.Code, w.Body, c.want)
		}
	}
	w = s.do(ask(talker, "POST", "/api/projects/"+projectID+"/restore", `{"path":"docs/nótes 100%.txt","version":"`+restored+`"}`))
	if w.Code != 200 {
		t.Errorf("a deleted file is restored: %d %s", w.Code, w.Body)
	}
}

// TestTheFirstFileMarksItsPlace before it is there, and no later one does.
func TestTheFirstFileMarksItsPlace(t *testing.T) {
	s := newSite()
	s.places.fault = fault.ErrStorage
	if w := s.put("b.txt", "x", "If-None-Match", "*"); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := s.do(ask(talker, "GET", filesPath+"/b.txt", "")); w.Code != 404 {
		t.Errorf("a file that nobody knows of: %d", w.Code)
	}
	s.places.fault = nil
	mustPut(t, s, "b.txt", "x")
	s.do(attachRequest(t, "/api/chats/"+chatID+"/files", formPart{"c.txt", "x"}))
	want := []files.Place{projectFiles, projectFiles, {Account: "a", Chat: chatID}}
	if !reflect.DeepEqual(s.places.marked, want) {
		t.Errorf("%+v, want %+v", s.places.marked, want)
	}
	s.project.Files, s.world.chat.Files = true, true
	mustPut(t, s, "d.txt", "x")
	s.do(attachRequest(t, "/api/chats/"+chatID+"/files", formPart{"d.txt", "x"}))
	if !reflect.DeepEqual(s.places.marked, want) {
		t.Errorf("marked again: %+v", s.places.marked)
	}
}

func TestAChatOfAProjectHasItsFiles(t *testing.T) {
	s := newSite()
	mustPut(t, s, "b.txt", "of the project")
	read := func() int { return s.do(ask(talker, "GET", "/api/chats/"+chatID+"/files/b.txt", "")).Code }
	if read() != 404 {
		t.Error("a chat without a project has its files")
	}
	s.world.chat.ProjectID = projectID
	if read() != 200 {
		t.Error("a chat does not have the files of its project")
	}
	s.world.chat.ProjectID = ghostID
	if w := s.do(ask(talker, "GET", "/api/chats/"+chatID+"/files", "")); w.Code != 404 || code(t, w) != conversation.ErrProjectNotFound.Code {
		t.Errorf("of a project that was deleted: %d %s", w.Code, w.Body)
	}
}

// TestRefusalsOfFiles names each status, with a sentence and a next step in both languages.
func TestRefusalsOfFiles(t *testing.T) {
	large := strings.Repeat("x", maxFileBody)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		{"GET", "/none", "", nil, 404, "workspace.not_found"},
		{"GET", "/a.txt?version=other", "", nil, 404, "workspace.not_found"},
		{"GET", "/a.txt", "", []string{"Range", "bytes=5-"}, 416, "workspace.range"},
		{"GET", "/a.txt", "", []string{"Range", "bytes=-0"}, 416, "workspace.range"},
		{"PUT", "/a.txt", "x", nil, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-Match", "*"}, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-Match", "v1"}, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-Match", `W/"v1"`}, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-Match", `"v1", "v2"`}, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-Match", `"v1"`, "If-None-Match", "*"}, 428, "workspace.unconditional"},
		{"PUT", "/a.txt", "x", []string{"If-None-Match", "*"}, 412, "workspace.moved"},
		{"PUT", "/a.txt", "x", []string{"If-Match", `"v0"`}, 412, "workspace.moved"},
		{"PUT", "/none", "x", []string{"If-Match", `"v1"`}, 412, "workspace.moved"},
		{"PUT", "/A.TXT", "x", []string{"If-None-Match", "*"}, 422, "workspace.name"},
		{"PUT", "/a.txt/b", "x", []string{"If-None-Match", "*"}, 422, "workspace.name"},
		{"PUT", "/b", large + "x", []string{"If-None-Match", "*"}, 413, "request.too_large"},
		{"PUT", "/b", "x", []string{"If-None-Match", "*", "Content-Encoding", "gzip"}, 415, "request.media_type"},
		{"PUT", "/b?upload=u", "x", []string{"If-None-Match", "*", "Content-Range", "bytes 0-0/10485761"}, 413, "workspace.too_large"},
		{"PUT", "/b?upload=u", "x", []string{"If-None-Match", "*", "Content-Range", "bytes 0-0/2"}, 400, "workspace.parts"},
		{"PUT", "/b?upload=u", "x", []string{"If-None-Match", "*"}, 400, "workspace.parts"},
		{"PUT", "/b", "x", []string{"If-None-Match", "*", "Content-Range", "bytes 0-0/1"}, 400, "workspace.parts"},
		{"PUT", "/b?upload=u", "xy", []string{"If-None-Match", "*", "Content-Range", "bytes 0-0/1"}, 400, "workspace.parts"},
		{"PUT", "/b?upload=u", "x", []string{"If-None-Match", "*", "Content-Range", "bytes 1-1/2"}, 409, "workspace.pieces"},
		{"PUT", "/b?upload=u", "x", []string{"If-None-Match", "*", "Content-Range", "bytes -1--1/0"}, 400, "workspace.parts"},
		{"DELETE", "/a.txt", "", nil, 428, "workspace.unconditional"},
		{"DELETE", "/a.txt", "", []string{"If-None-Match", "*"}, 428, "workspace.unconditional"},
		{"POST", "", "x", nil, 415, "request.media_type"},
		{"POST", "", "x", []string{"Content-Type", "multipart/form-data"}, 400, "workspace.form"},
		{"POST", "", "--x--", []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, "workspace.form"},
		{"POST", "", "--x\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, "workspace.form"},
		{"PATCH", "/a.txt", "x", nil, 405, "route.method_not_allowed"},
	} {
		var said []string
		for _, lang := range []string{"es", "en"} {
			r := ask(talker, c.method, filesPath+c.path, c.body, append(c.headers, "Accept-Language", lang)...)
			w := newSite().do(r)
			told := decode(t, w)
			if w.Code != c.status || told["code"] != c.code || told["action"] == nil || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s %v: %d %s, want %d %s", c.method, c.path, c.headers, w.Code, w.Body, c.status, c.code)
			}
			if text := fmt.Sprint(told["detail"], told["action"]); strings.Contains(text, "…") {
				t.Errorf("%s %s: a hole in %q", c.method, c.path, text)
			}
			said = append(said, fmt.Sprint(told["detail"], told["action"]))
		}
		if said[0] == said[1] {
			t.Errorf("%s %s: one text in both languages: %s", c.method, c.path, said[0])
		}
	}
}

// TestHostileNames reach no file: each is refused by every route, and nothing is written.
func TestHostileNames(t *testing.T) {
	refused := []string{
		"../a.txt", "d//x", "d/../a.txt", "./a.txt", "d/", "..%2fa.txt", "..%2F..%2Fa.txt", "%2e%2e%2fa.txt", "%2fetc%2fpasswd", "a%00.txt", "a%0a.txt", "d%5cb.txt", "CON", "con.txt", "d/NUL", "x.", "x...", "x%20",
		"c:x", ".env", "d/.env.local", ".git/config", "id_rsa", "x.pem", "d%2f%2fx", "d%2f", ".piloto-x", "a%e2%80%8bb", "a%e2%80%aeb",
		strings.Repeat("d/", 512) + "a", strings.Repeat("x", 256), url.PathEscape(norm.NFD.String("ñ")), url.PathEscape(strings.Repeat("🚀", 300)),
	}
	for _, name := range refused {
		s := newSite()
		for _, r := range []*http.Request{
			ask(talker, "GET", filesPath+"/"+name, ""),
			ask(talker, "PUT", filesPath+"/"+name, "x", "If-None-Match", "*"),
			ask(talker, "DELETE", filesPath+"/"+name, "", "If-Match", `"v1"`),
			ask(talker, "GET", "/api/projects/"+projectID+"/versions/"+name, ""),
		} {
			if w := s.do(r); w.Code != 422 || code(t, w) != "workspace.name" {
				t.Errorf("%s %.80s: %d %s", r.Method, name, w.Code, w.Body)
			}
		}
		if l, err := s.places.store(projectFiles).List(t.Context()); err != nil || len(l.Files) != 1 || len(s.places.marked) != 0 {
			t.Errorf("%.80s: %+v, marked %v, %v", name, l.Files, s.places.marked, err)
		}
	}
	for _, name := range []string{url.PathEscape(strings.Repeat("🚀", 60)), "a%41", "%25", "%23%26", "a+b", "d%2fb", url.PathEscape("ñ/日本")} {
		s := newSite()
		mustPut(t, s, name, "x")
		plain, _ := url.PathUnescape(name)
		if _, err := s.places.store(projectFiles).Stat(t.Context(), plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOneOfTwoWritersWins(t *testing.T) {
	s := newSite()
	version := mustPut(t, s, "b", "zero")
	s.handler(FunctionFiles)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[int]int{}
	for i := range 8 {
		all.Go(func() {
			w := s.put("b", fmt.Sprint("of ", i), "If-Match", `"`+version+`"`)
			mu.Lock()
			defer mu.Unlock()
			got[w.Code]++
		})
	}
	all.Wait()
	if got[200] != 1 || got[412] != 7 {
		t.Errorf("%v", got)
	}
	if l, err := s.places.store(projectFiles).Versions(t.Context(), "b"); err != nil || len(l) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAFileComesInPieces(t *testing.T) {
	s := newSite()
	whole := strings.Repeat("0123456789abcdef", 5<<20/16) + "end"
	send := func(from, to int, body string) *httptest.ResponseRecorder {
		return s.put("big?upload=u-1", body, "If-None-Match", "*", "Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(whole)))
	}
	half := 3 << 20
	if w := send(half, len(whole), whole[half:]); w.Code != 409 || !strings.Contains(w.Body.String(), "byte 0") {
		t.Errorf("the last piece without the others: %d %s", w.Code, w.Body)
	}
	for range 2 {
		if w := send(0, half, whole[:half]); w.Code != 202 || decode(t, w)["received"] != float64(half) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w := s.do(ask(talker, "GET", filesPath+"/big", "")); w.Code != 404 {
		t.Errorf("half a file is seen: %d", w.Code)
	}
	for _, piece := range []string{"X" + whole[1:half], whole[:half]} { // the last one counts
		if w := send(0, half, piece); w.Code != 202 {
			t.Errorf("another piece: %d %s", w.Code, w.Body)
		}
	}
	for _, want := range []int{201, 412} { // it is written once
		if w := send(half, len(whole), whole[half:]); w.Code != want {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	content, _, err := workspace.ReadAll(t.Context(), s.places.store(projectFiles), "big", "")
	if err != nil || string(content) != whole {
		t.Errorf("%d bytes, %v", len(content), err)
	}
	if w := s.do(ask(talker, "GET", filesPath+"/big", "")); w.Code != 413 || code(t, w) != "workspace.ranges" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var got bytes.Buffer
	for got.Len() < len(whole) {
		w := s.do(ask(talker, "GET", filesPath+"/big", "", "Range", fmt.Sprintf("bytes=%d-", got.Len())))
		if w.Code != 206 || w.Body.Len() == 0 || w.Body.Len() > maxFileBody || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("%d %d bytes %v", w.Code, w.Body.Len(), w.Header())
		}
		got.Write(w.Body.Bytes())
	}
	if got.String() != whole {
		t.Error("the ranges are not the file")
	}
}

func TestRangesAndKnownVersions(t *testing.T) {
	s := newSite()
	version := mustPut(t, s, "b", "0123456789")
	tag := `"` + version + `"`
	for _, c := range []struct {
		headers []string
		status  int
		body    string
		part    string
	}{
		{[]string{"Range", "bytes=2-4"}, 206, "234", "bytes 2-4/10"},
		{[]string{"Range", "bytes=2-"}, 206, "23456789", "bytes 2-9/10"},
		{[]string{"Range", "bytes=-3"}, 206, "789", "bytes 7-9/10"},
		{[]string{"Range", "bytes=-30"}, 206, "0123456789", "bytes 0-9/10"},
		{[]string{"Range", "bytes=0-99"}, 206, "0123456789", "bytes 0-9/10"},
		{[]string{"Range", "bytes=10-"}, 416, "", "bytes */10"},
		{[]string{"Range", "bytes=4-2"}, 200, "0123456789", ""},
		{[]string{"Range", "bytes=0-1,4-5"}, 200, "0123456789", ""},
		{[]string{"Range", "lines=0-1"}, 200, "0123456789", ""},
		{[]string{"Range", "bytes=99999999999999999999-"}, 200, "0123456789", ""},
		{[]string{"Range", "bytes=2-4", "If-Range", tag}, 206, "234", "bytes 2-4/10"},
		{[]string{"Range", "bytes=2-4", "If-Range", `"old"`}, 200, "0123456789", ""},
		{[]string{"If-None-Match", tag}, 304, "", ""},
		{[]string{"If-None-Match", `"x", W/` + tag}, 304, "", ""},
		{[]string{"If-None-Match", "*"}, 304, "", ""},
		{[]string{"If-None-Match", `"x"`}, 200, "0123456789", ""},
	} {
		w := s.do(ask(talker, "GET", filesPath+"/b", "", c.headers...))
		if w.Code != c.status || w.Code != 416 && w.Body.String() != c.body || w.Header().Get("Content-Range") != c.part {
			t.Errorf("%v: %d %q %q", c.headers, w.Code, w.Body, w.Header().Get("Content-Range"))
		}
	}
}

// TestABrowserRunsNoFile: what it would run is a plain text, or a download.
func TestABrowserRunsNoFile(t *testing.T) {
	for _, c := range []struct{ name, content, media, disposition string }{
		{"a.html", "<!doctype html><script>alert(1)</script>", "text/plain; charset=utf-8", ""},
		{"a.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>`, "text/plain; charset=utf-8", ""},
		{"a.xhtml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, "text/plain; charset=utf-8", ""},
		{"a.js", "alert(1)", "text/plain; charset=utf-8", ""},
		{"empty", "", "text/plain; charset=utf-8", ""},
		{"a.png", png, "image/png", ""},
		{"a.txt2", strings.Repeat("ñ", 5000), "text/plain; charset=utf-8", ""},
		{"x.pdf", "%PDF-1.7\n\x00", "application/pdf", "attachment; filename=x.pdf"},
		{"a.exe", "MZ\x00\x01", "application/octet-stream", "attachment; filename=a.exe"},
		{"ñ.bin", "\xff\xfe<\x00s\x00", "application/octet-stream", "attachment; filename*=utf-8''%C3%B1.bin"},
		{"cut", "\xc3", "application/octet-stream", "attachment; filename=cut"},
	} {
		s := newSite()
		mustPut(t, s, url.PathEscape(c.name), c.content)
		w := s.do(ask(talker, "GET", filesPath+"/"+url.PathEscape(c.name), ""))
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != c.media || h.Get("Content-Disposition") != c.disposition || w.Body.String() != c.content {
			t.Errorf("%s: %d %q %q", c.name, w.Code, h.Get("Content-Type"), h.Get("Content-Disposition"))
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: %v", c.name, h)
		}
	}
}

type formPart struct{ name, content string }

func attachRequest(t *testing.T, path string, parts ...formPart) *http.Request {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range parts {
		w, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.name) + `"`}})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(p.content))
	}
	_ = form.Close()
	return ask(talker, "POST", path, body.String(), "Content-Type", form.FormDataContentType())
}

func TestAttachmentsGetNamesThatAreFree(t *testing.T) {
	s := newSite()
	w := s.do(attachRequest(t, filesPath,
		formPart{"foto.png", png}, formPart{"foto.png", "two"}, formPart{"FOTO.png", "three"}, formPart{"A.txt", "x"}, formPart{".env", "secret"},
		formPart{`C:\Users\ana\informe: final?.pdf`, "x"}, formPart{"../../etc/passwd", "x"}, formPart{"con.txt", "x"}, formPart{"a\u202eb.txt", "x"},
		formPart{norm.NFD.String("niño.txt"), "x"}, formPart{strings.Repeat("ñ", 300) + ".jpeg", "x"}, formPart{"x. . ", "x"}, formPart{"..", "x"}, formPart{"", "x"},
		formPart{"server.key", "x"}, formPart{"sin extensión", "x"}, formPart{"sin extensión", "y"}))
	if w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var got Attached
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var names, refused []string
	for _, f := range got.Files {
		names = append(names, f.Path)
	}
	for _, r := range got.Refused {
		refused = append(refused, r.Name)
		if r.Code != "workspace.name" || r.Message == "" {
			t.Errorf("%+v", r)
		}
	}
	want := []string{
		"foto.png", "foto (2).png", "FOTO (3).png", "A (2).txt", "informe_ final_.pdf", "passwd", "_con.txt", "ab.txt", "niño.txt",
		strings.Repeat("ñ", 117) + ".jpeg", "x", "sin extensión", "sin extensión (2)",
	}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if want := []string{".env", "..", "", "server.key"}; !reflect.DeepEqual(refused, want) {
		t.Errorf("refused: %q, want %q", refused, want)
	}
	if content, _, err := workspace.ReadAll(t.Context(), s.places.store(projectFiles), "foto (2).png", ""); err != nil || string(content) != "two" {
		t.Errorf("%q, %v", content, err)
	}
	var many []formPart
	for range maxParts + 1 {
		many = append(many, formPart{"m", "x"})
	}
	if w := newSite().do(attachRequest(t, filesPath, many...)); w.Code != 400 || code(t, w) != "workspace.form" {
		t.Errorf("21 files: %d %s", w.Code, w.Body)
	}
}

// TestALargeAttachmentComesInPieces: its name is cleaned and numbered as that of a small one.
func TestALargeAttachmentComesInPieces(t *testing.T) {
	s := newSite()
	whole := strings.Repeat("0123456789abcdef", 5<<20/16) + "end"
	half := 3 << 20
	send := func(upload, name string, from, to int) *httptest.ResponseRecorder {
		r := attachRequest(t, filesPath+"?upload="+upload, formPart{name, whole[from:to]})
		r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(whole)))
		return s.do(r)
	}
	for n, want := range []string{"a_b.pdf", "a_b (2).pdf"} {
		upload := fmt.Sprint("u", n)
		if w := send(upload, "a:b.pdf", 0, half); w.Code != 202 || decode(t, w)["received"] != float64(half) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		w := send(upload, "a:b.pdf", half, len(whole))
		var got Attached
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 201 || len(got.Files) != 1 || got.Files[0].Path != want {
			t.Fatalf("%d %s, %v", w.Code, w.Body, err)
		}
		if content, _, err := workspace.ReadAll(t.Context(), s.places.store(projectFiles), want, ""); err != nil || string(content) != whole {
			t.Errorf("%s: %d bytes, %v", want, len(content), err)
		}
	}
	for name, c := range map[string]struct {
		request *http.Request
		status  int
		code    string
	}{
		"a hidden name":          {attachRequest(t, filesPath+"?upload=u", formPart{"a/.env", "x"}), 422, "workspace.name"},
		"two files":              {attachRequest(t, filesPath+"?upload=u", formPart{"a", "x"}, formPart{"b", "x"}), 400, "workspace.parts"},
		"no upload":              {attachRequest(t, filesPath, formPart{"a", "x"}), 400, "workspace.parts"},
		"a last piece by itself": {attachRequest(t, filesPath+"?upload=v", formPart{"a", "x"}), 409, "workspace.pieces"},
	} {
		c.request.Header.Set("Content-Range", "bytes 4000000-4000000/4000001")
		if w := s.do(c.request); w.Code != c.status || code(t, w) != c.code {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestAttachmentsAtOnceKeepAll: many forms with the same name, at the same time.
func TestAttachmentsAtOnceKeepAll(t *testing.T) {
	s := newSite()
	s.handler(FunctionFiles)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if w := s.do(attachRequest(t, filesPath, formPart{"p.png", fmt.Sprint(i)})); w.Code != 201 || len(listOf(decode(t, w)["files"])) != 1 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if l, err := s.places.store(projectFiles).List(t.Context()); err != nil || len(l.Files) != 9 {
		t.Errorf("%+v, %v", l.Files, err)
	}
}
