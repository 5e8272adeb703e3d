package webui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// The scripts and the style sheet in bundle/ are made of asset/ by a test, which compares them. words.json has the closed lists
// with which the page answers a confirmation of nothing without the server; a test compares them with those of
// package intent.
//
//go:embed bundle asset/*.svg asset/*.png asset/words.json
var assetFiles embed.FS

// assets are the files of the page, by name, under one version: the hash of all files. The page links to
// /assets/VERSION/NAME, whose content never changes.
type assets struct {
	version string
	files   map[string]asset
}

type asset struct {
	body []byte
	zip  func() []byte // body, compressed once
	mime string
	etag string // weak, because it is the same for the compressed body
}

func loadAssets() assets {
	a := assets{files: map[string]asset{}}
	err := fs.WalkDir(assetFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := assetFiles.ReadFile(name)
		if err == nil {
			a.add(path.Base(name), body)
		}
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("webui: embedded assets: %v", err)) // an error in the program
	}
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
	case ".png":
		kind = "image/png"
	case ".json":
		kind = "application/json"
	default:
		kind = mime.TypeByExtension(path.Ext(name))
	}
	sum := sha256.Sum256(body)
	a.files[name] = asset{
		body: body, mime: kind, etag: `W/"` + hex.EncodeToString(sum[:8]) + `"`,
		zip: sync.OnceValue(func() []byte { return zipped(body) }),
	}
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

// Files returns the files that the page links to, by path. The content of a path never changes.
func Files() map[string][]byte {
	a := loadAssets()
	files := map[string][]byte{}
	for name, f := range a.files {
		files["/assets/"+a.version+"/"+name] = f.body
	}
	return files
}

// inline returns an asset as the end of a data address.
func (a assets) inline(name string) (string, error) {
	f, ok := a.files[name]
	if !ok {
		return "", fmt.Errorf("no asset %q", name)
	}
	return url.PathEscape(string(f.body)), nil
}

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	version, name, versioned := strings.Cut(r.PathValue("path"), "/")
	if !versioned {
		version, name = "", version
	}
	a.sendFile(w, r, name, version == a.version)
}

func (a assets) sendFile(w http.ResponseWriter, r *http.Request, name string, forever bool) {
	f, ok := a.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("ETag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if match := r.Header.Get("If-None-Match"); match != "" && strings.Contains(match, f.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.mime)
	send(w, r, http.StatusOK, f.body, f.zip)
}
