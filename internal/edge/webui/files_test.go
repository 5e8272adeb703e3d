package webui

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// drawer keeps the files of one chat, with the contract of the API.
type drawer struct {
	mu     sync.Mutex
	kept   map[string]string        // by name: the content
	pieces map[string]string        // by upload: the pieces up to now
	slow   map[string]chan struct{} // by name, or "" for the list: closed when the request may go on
	gone   chan string              // names of files that were deleted
}

func newDrawer() *drawer {
	return &drawer{kept: map[string]string{}, pieces: map[string]string{}, slow: map[string]chan struct{}{}, gone: make(chan string, 10)}
}

// wait returns when a request may go on.
func (d *drawer) wait(name string) {
	d.mu.Lock()
	until := d.slow[name]
	d.mu.Unlock()
	if until != nil {
		<-until
	}
}

// hold has requests wait, for a file or for the list, until what it returns is called or the test ends.
func (d *drawer) hold(t *testing.T, name string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until := make(chan struct{})
	d.slow[name] = until
	release = sync.OnceFunc(func() { close(until) })
	t.Cleanup(release)
	return release
}

func (d *drawer) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/chats/{id}/files", func(rw http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			refuse(rw, 400, "workspace.form", "El formulario no se puede leer.")
			return
		}
		made, refused := []any{}, []any{}
		for _, part := range r.MultipartForm.File["file"] {
			d.wait(part.Filename)
			if strings.HasPrefix(part.Filename, ".env") {
				refused = append(refused, map[string]string{"name": part.Filename, "code": "workspace.name", "message": "«.env» no puede ser el nombre de un archivo."})
				continue
			}
			f, err := part.Open()
			if err != nil {
				panic(err)
			}
			content, err := io.ReadAll(f)
			if err != nil {
				panic(err)
			}
			whole, err := d.join(r, string(content))
			if err != nil {
				refuse(rw, 400, "workspace.parts", "La parte no es correcta.")
				return
			}
			if whole == "" {
				tell(rw, 202, map[string]any{})
				return
			}
			made = append(made, d.keep(strings.ReplaceAll(part.Filename, ":", "_"), whole))
		}
		tell(rw, 201, map[string]any{"files": made, "refused": refused})
	})
	mux.HandleFunc("GET /api/chats/{id}/files", func(rw http.ResponseWriter, _ *http.Request) {
		d.wait("")
		d.mu.Lock()
		defer d.mu.Unlock()
		list, bytes := []any{}, 0
		for name, content := range d.kept {
			list, bytes = append(list, d.file(name)), bytes+len(content)
		}
		tell(rw, 200, map[string]any{"files": list, "version": "v", "bytes": bytes})
	})
	mux.HandleFunc("DELETE /api/chats/{id}/files/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if r.Header.Get("If-Match") != `"v-`+r.PathValue("path")+`"` {
			refuse(rw, 412, "workspace.moved", "Ha cambiado.")
			return
		}
		delete(d.kept, r.PathValue("path"))
		d.gone <- r.PathValue("path")
		rw.WriteHeader(204)
	})
}

// join returns the whole content, or "" when pieces are still to come.
func (d *drawer) join(r *http.Request, content string) (string, error) {
	upload := r.URL.Query().Get("upload")
	if upload == "" && r.Header.Get("Content-Range") == "" {
		return content, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var first, last, all int
	_, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &all)
	if err != nil || upload == "" || len(content) != last-first+1 || len(d.pieces[upload]) != first {
		return "", fmt.Errorf("a wrong piece: %w", err)
	}
	if d.pieces[upload] += content; last+1 < all {
		return "", nil
	}
	return d.pieces[upload], nil
}

func (d *drawer) keep(name, content string) map[string]any {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[name] = content
	return d.file(name)
}

func (d *drawer) file(name string) map[string]any {
	return map[string]any{"path": name, "size": len(d.kept[name]), "version": "v-" + name, "at": "2026-03-02T09:00:00Z"}
}

func (d *drawer) has(name string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	content, ok := d.kept[name]
	return content, ok
}

// TestFilesAreAttached with the button, by dropping and by pasting; what is refused is told, and the message names what was
// added for it.
func TestFilesAreAttached(t *testing.T) {
	b := open(t, 1200, 800)
	folder := t.TempDir()
	for name, content := range map[string]string{"precios.csv": "a,b\n", ".env": "KEY=1", "gran:de.bin": strings.Repeat("x", 4_500_000)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pick := func(name string) {
		b.do(chromedp.SetUploadFiles(chromedp.CSS("#attach-input"), []string{filepath.Join(folder, name)}))
	}
	pick("precios.csv")
	b.until(`document.querySelector("#attached li:not(.sending)")?.textContent.includes("precios.csv")`)
	if got, ok := b.drawer.has("precios.csv"); got != "a,b\n" || !ok {
		t.Errorf("%q %v", got, ok)
	}
	b.picture("attached")
	pick(".env")
	b.until(`document.getElementById("composer-problem").textContent.includes(".env")`)
	pick("gran:de.bin")
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 2`)
	if got, _ := b.drawer.has("gran_de.bin"); len(got) != 4_500_000 {
		t.Errorf("%d bytes", len(got))
	}
	give := func(event, on string) { b.give(event, on, event+".txt") }
	give("drop", "#thread")
	b.until(`document.querySelector("#attached").textContent.includes("drop.txt")`)
	give("paste", "#message")
	b.until(`document.querySelector("#attached").textContent.includes("paste.txt")`)
	b.click(`#attached button[aria-label="Borrar drop.txt"]`)
	b.until(`!document.querySelector("#attached").textContent.includes("drop.txt")`)
	if _, there := b.drawer.has("drop.txt"); there {
		t.Error("it was removed on the screen only")
	}
	b.say("¿qué hay aquí?")
	b.until(`document.getElementById("attached").hidden`)
	b.until(`document.querySelector(".line.user .bubble")?.textContent.includes("Adjuntos: precios.csv, gran_de.bin, paste.txt")`)
	var sent struct{ Message string }
	err := json.Unmarshal([]byte(b.lastSent("hay aquí")), &sent)
	if err != nil || sent.Message != "¿qué hay aquí?\n\nAdjuntos: precios.csv, gran_de.bin, paste.txt" {
		t.Errorf("%q, %v", sent.Message, err)
	}
	b.click(`[data-action="files"]`)
	b.until(`document.querySelectorAll("#files .files-list li").length === 3`)
	b.picture("files")
	b.click(`#files button[aria-label="Borrar paste.txt"]`)
	b.click("#ask-yes")
	b.until(`document.querySelectorAll("#files[open] .files-list li").length === 2`)
}

// give drops or pastes a file on an element.
func (b *browser) give(event, on, name string) {
	b.Helper()
	kind := map[string]string{"drop": "DragEvent", "paste": "ClipboardEvent"}[event]
	eval[bool](b, `(() => { const d = new DataTransfer(); d.items.add(new File(["hola"], "`+name+`")); const e = new `+kind+`("`+event+`", { bubbles: true, cancelable: true, dataTransfer: d, clipboardData: d }); return !document.querySelector("`+on+`").dispatchEvent(e) })()`)
}

// TestAMessageThatIsTooLongKeepsItsFiles: what is counted is the message with their names.
func TestAMessageThatIsTooLongKeepsItsFiles(t *testing.T) {
	b := open(t, 1200, 800)
	b.give("drop", "#thread", "a.txt")
	b.until(`document.querySelector("#attached li:not(.sending)")?.textContent.includes("a.txt")`)
	b.set("#message", strings.Repeat("x", 32<<10-5))
	b.click("#send")
	b.until(`document.getElementById("composer-problem").textContent.trim() !== ""`)
	b.set("#message", "¿qué hay aquí?")
	b.click("#send")
	b.until(`document.querySelector(".line.user .bubble")?.textContent.includes("Adjuntos: a.txt")`)
	b.until(`document.getElementById("attached").hidden`)
}

// TestAFileIsTakenAwayWhileTheMessageIsSent: the message does not name it.
func TestAFileIsTakenAwayWhileTheMessageIsSent(t *testing.T) {
	b := open(t, 1200, 800)
	for _, name := range []string{"a.txt", "b.txt"} {
		b.give("drop", "#thread", name)
		b.until(`[...document.querySelectorAll("#attached li:not(.sending)")].some((li) => li.textContent.includes("` + name + `"))`)
	}
	release := b.drawer.hold(t, "")
	b.click(`#attached button[aria-label="Borrar a.txt"]`)
	b.say("¿qué hay aquí?")
	b.until(`document.querySelector(".line.user:not(.sending) .bubble")?.textContent.endsWith("Adjuntos: b.txt")`)
	release()
	select {
	case <-b.drawer.gone:
	case <-time.After(patience):
		t.Fatal("the file is still there")
	}
	b.until(`document.getElementById("attached").hidden && document.getElementById("composer-problem").textContent.trim() === ""`)
}

// TestAFileOnItsWayStaysOnTheScreen when another one that was added later has arrived.
func TestAFileOnItsWayStaysOnTheScreen(t *testing.T) {
	b := open(t, 1200, 800)
	b.give("drop", "#thread", "a.txt")
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 1`)
	release := b.drawer.hold(t, "lento.txt")
	b.give("drop", "#thread", "lento.txt")
	b.until(`document.querySelector("#attached li.sending")?.textContent.includes("lento.txt")`)
	b.give("drop", "#thread", "b.txt")
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 2`)
	if got := eval[string](b, `document.querySelector("#attached li.sending")?.textContent || ""`); !strings.Contains(got, "lento.txt") {
		t.Errorf("on its way: %q", got)
	}
	release()
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 3 && !document.querySelector("#attached li.sending")`)
}
