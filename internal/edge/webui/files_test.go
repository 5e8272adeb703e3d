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

	"github.com/chromedp/chromedp"
)

// drawer keeps the files of one chat, with the contract of the API.
type drawer struct {
	mu   sync.Mutex
	kept map[string]string // by name: the content
}

func (d *drawer) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/chats/{id}/files", func(rw http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			refuse(rw, 400, "workspace.form", "El formulario no se puede leer.")
			return
		}
		made, refused := []any{}, []any{}
		for _, part := range r.MultipartForm.File["file"] {
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
			d.kept[part.Filename] = string(content)
			made = append(made, d.file(part.Filename))
		}
		tell(rw, 201, map[string]any{"files": made, "refused": refused})
	})
	mux.HandleFunc("GET /api/chats/{id}/files", func(rw http.ResponseWriter, _ *http.Request) {
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
		rw.WriteHeader(204)
	})
	mux.HandleFunc("PUT /api/chats/{id}/files/{path...}", func(rw http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		name := r.PathValue("path")
		var first, last, all int
		if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &all); err != nil || r.URL.Query().Get("upload") == "" || r.Header.Get("If-None-Match") != "*" {
			refuse(rw, 400, "workspace.parts", "La parte no es correcta.")
			return
		}
		piece, err := io.ReadAll(r.Body)
		if err != nil || len(piece) != last-first+1 {
			refuse(rw, 400, "workspace.parts", "La parte no es correcta.")
			return
		}
		if first == 0 {
			if _, there := d.kept[name]; there {
				refuse(rw, 412, "workspace.moved", "Ya existe.")
				return
			}
		}
		d.kept[name] += string(piece)
		if last+1 < all {
			tell(rw, 202, map[string]any{})
			return
		}
		tell(rw, 201, d.file(name))
	})
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
	for name, content := range map[string]string{"precios.csv": "a,b\n", ".env": "KEY=1", "grande.bin": strings.Repeat("x", 4_500_000)} {
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
	pick("grande.bin")
	b.until(`document.querySelectorAll("#attached li:not(.sending)").length === 2`)
	if got, _ := b.drawer.has("grande.bin"); len(got) != 4_500_000 {
		t.Errorf("%d bytes", len(got))
	}
	give := func(event, on string) {
		eval[bool](b, `(() => { const d = new DataTransfer(); d.items.add(new File(["hola"], "`+event+`.txt")); const e = new `+map[string]string{"drop": "DragEvent", "paste": "ClipboardEvent"}[event]+`("`+event+`", { bubbles: true, cancelable: true, dataTransfer: d, clipboardData: d }); return !document.querySelector("`+on+`").dispatchEvent(e) })()`)
	}
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
	b.until(`document.querySelector(".line.user .bubble")?.textContent.includes("Adjuntos: precios.csv, grande.bin, paste.txt")`)
	b.mu.Lock()
	var sent struct{ Message string }
	err := json.Unmarshal([]byte(b.sends[len(b.sends)-1]), &sent)
	b.mu.Unlock()
	if err != nil || sent.Message != "¿qué hay aquí?\n\nAdjuntos: precios.csv, grande.bin, paste.txt" {
		t.Errorf("%q, %v", sent.Message, err)
	}
	b.click(`[data-action="files"]`)
	b.until(`document.querySelectorAll("#files .files-list li").length === 3`)
	b.picture("files")
	b.click(`#files button[aria-label="Borrar paste.txt"]`)
	b.click("#ask-yes")
	b.until(`document.querySelectorAll("#files[open] .files-list li").length === 2`)
}
