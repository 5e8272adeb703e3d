package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

//go:embed asset
var assetFiles embed.FS

// assets are the files of the page, by name, under one version: the hash of all files. The page links to
// /assets/VERSION/NAME, whose content never changes, and modules that import each other by relative path stay
// within their version.
type assets struct {
	version string
	files   map[string]asset
}

type asset struct {
	body []byte
	mime string
	etag string
}

// loadAssets reads the files and joins asset/css into app.css. words.json has the closed lists with which the page
// answers a confirmation of nothing without the server; a test compares them with those of package intent.
func loadAssets() assets {
	a := assets{files: map[string]asset{}}
	var css bytes.Buffer
	err := fs.WalkDir(assetFiles, "asset", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".css" {
			css.Write(body)
			return nil
		}
		a.add(path.Base(name), body)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("webui: embedded assets: %v", err)) // an error in the program
	}
	a.add("app.css", css.Bytes())
	a.version = a.hash()
	return a
}

func (a assets) add(name string, body []byte) {
	var kind string
	switch path.Ext(name) { // fixed types, because the machine's tables differ and are slow to read
	case ".js":
		kind = "text/javascript; charset=utf-8"
	case ".css":
		kind = "text/css; charset=utf-8"
	case ".svg":
		kind = "image/svg+xml"
	case ".json":
		kind = "application/json"
	default:
		kind = mime.TypeByExtension(path.Ext(name))
	}
	sum := sha256.Sum256(body)
	a.files[name] = asset{body: body, mime: kind, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (a assets) hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		fmt.Fprintf(h, "%s %s\n", name, a.files[name].etag)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// url returns the address of an asset. An unknown name is an error in a template, and stops the rendering.
func (a assets) url(name string) (string, error) {
	if _, ok := a.files[name]; !ok {
		return "", fmt.Errorf("no asset %q", name)
	}
	return "/assets/" + a.version + "/" + name, nil
}

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	version, name, versioned := strings.Cut(r.PathValue("path"), "/")
	if !versioned {
		version, name = "", version
	}
	a.send(w, r, name, version == a.version)
}

func (a assets) send(w http.ResponseWriter, r *http.Request, name string, forever bool) {
	f, ok := a.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache")
	if forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if match := r.Header.Get("If-None-Match"); match != "" && strings.Contains(match, f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.mime)
	_, _ = w.Write(f.body) // the client may be gone; there is nothing left to do
}
