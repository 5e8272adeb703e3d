package webui

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piloto/internal/access/auth"

	"github.com/evanw/esbuild/pkg/api"
)

// bundled returns the files that are made of asset/: the scripts of the page and of a receipt with their imports, and
// every file of asset/css in the order of their names.
func bundled(t *testing.T) map[string][]byte {
	t.Helper()
	sheets, err := filepath.Glob("asset/css/*.css")
	if err != nil || len(sheets) == 0 {
		t.Fatal("no style sheets", err)
	}
	slices.Sort(sheets)
	var css strings.Builder
	for _, sheet := range sheets {
		css.WriteString(`@import "./` + filepath.ToSlash(sheet) + "\";\n")
	}
	made := map[string][]byte{}
	for name, options := range map[string]api.BuildOptions{
		"app.js":     {EntryPoints: []string{"asset/app.js"}, Target: api.ES2022},
		"receipt.js": {EntryPoints: []string{"asset/receipt.js"}, Target: api.ES2022},
		"app.css":    {Stdin: &api.StdinOptions{Contents: css.String(), ResolveDir: ".", Loader: api.LoaderCSS}},
	} {
		options.Bundle, options.Write, options.Format, options.Charset = true, false, api.FormatESModule, api.CharsetUTF8
		options.MinifyWhitespace, options.MinifySyntax, options.MinifyIdentifiers = true, true, true
		if name == "app.css" {
			options.MinifyIdentifiers = false
		}
		result := api.Build(options)
		for _, e := range slices.Concat(result.Errors, result.Warnings) {
			t.Errorf("%s: %s %+v", name, e.Text, e.Location)
		}
		if len(result.OutputFiles) != 1 {
			t.Fatalf("%s: %d files", name, len(result.OutputFiles))
		}
		made[name] = result.OutputFiles[0].Contents
	}
	return made
}

// TestTheBundleIsMadeOfTheAssets: esbuild is used only here, so that no function links it.
func TestTheBundleIsMadeOfTheAssets(t *testing.T) {
	for name, want := range bundled(t) {
		if *update {
			if err := os.WriteFile("bundle/"+name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile("bundle/" + name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("bundle/%s is not made of asset/ (-update makes it anew): %v", name, err)
		}
	}
}

// TestResponsesAreCompressedForThoseWhoAccept: pages, fragments and assets, each with the same content.
func TestResponsesAreCompressedForThoseWhoAccept(t *testing.T) {
	w, chat, run := furnishedWorld(t)
	script, err := loadAssets().url("app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/?chat=" + chat, "/ui/chats/" + chat, "/ui/runs/" + run, script, "/assets/app.css", "/assets/words.json"} {
		plain := get(t, w.page, path, ana)
		for accept, zipped := range map[string]bool{"gzip, deflate, br": true, "*;q=0, gzip;q=1": true, "br": false, "gzip;q=0": false, "identity, gzip; q=0.0": false, "": false} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Encoding", accept)
			got := httptest.NewRecorder()
			w.page.ServeHTTP(got, r.WithContext(auth.NewContext(r.Context(), ana)))
			body := got.Body.Bytes()
			if (got.Header().Get("Content-Encoding") == "gzip") != zipped || !strings.Contains(got.Header().Get("Vary"), "Accept-Encoding") {
				t.Errorf("%s, %q: %v", path, accept, got.Header())
				continue
			}
			if zipped {
				z, err := gzip.NewReader(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				if len(body)*2 > plain.Body.Len() && plain.Body.Len() > 4000 {
					t.Errorf("%s: %d of %d bytes", path, len(body), plain.Body.Len())
				}
				body, _ = io.ReadAll(z)
			}
			if !bytes.Equal(body, plain.Body.Bytes()) {
				t.Errorf("%s, %q: another content", path, accept)
			}
		}
	}
}
