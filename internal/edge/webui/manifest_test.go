package webui

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"image/png"
	"os"
	"strings"
	"testing"
)

var drawIcons = flag.Bool("icons", false, "draw the icons anew from asset/icon.svg")

// TestThePageCanBeInstalled: the manifest names icons that exist, and opens what waits.
func TestThePageCanBeInstalled(t *testing.T) {
	w, _, _ := furnishedWorld(t)
	page := get(t, w.page, "/").Body.String()
	if !strings.Contains(page, `rel="manifest" href="/manifest.webmanifest"`) || !strings.Contains(page, `name="theme-color"`) {
		t.Error("the page names no manifest or no colour")
	}
	got := get(t, w.page, "/manifest.webmanifest")
	var m manifest
	if err := json.Unmarshal(got.Body.Bytes(), &m); err != nil || got.Header().Get("Content-Type") != "application/manifest+json" {
		t.Fatalf("%v: %s", err, got.Body)
	}
	if m.StartURL != "/?view=waiting" || m.Display != "standalone" || m.Name != "Piloto" || len(m.Icons) != 4 {
		t.Errorf("%+v", m)
	}
	for _, icon := range m.Icons {
		image := get(t, w.page, icon.Src)
		if image.Code != 200 || image.Header().Get("Content-Type") != icon.Type {
			t.Errorf("%s: %d %s", icon.Src, image.Code, image.Header())
		}
		if icon.Type != "image/png" {
			continue
		}
		drawn, err := png.Decode(image.Body)
		if err != nil {
			t.Fatal(err)
		}
		size := itoa(drawn.Bounds().Dx()) + "x" + itoa(drawn.Bounds().Dy())
		_, _, _, opaque := drawn.At(0, 0).RGBA()
		if size != icon.Sizes || (opaque != 0) != (icon.Purpose == "maskable") {
			t.Errorf("%s: %s, corner %d", icon.Src, size, opaque)
		}
	}
}

// TestAnInstalledPageOpensWhatWaits in a browser that finds nothing to complain of.
func TestAnInstalledPageOpensWhatWaits(t *testing.T) {
	b := open(t, 390, 844)
	if *drawIcons {
		b.drawIcons()
	}
	start := eval[string](b, `fetch(document.querySelector("link[rel=manifest]").href).then(r => r.json()).then(m => m.start_url)`)
	b.visit(start)
	b.see(`[data-view="waiting"] #view`)
}

// drawIcons draws the PNG icons. That of a mask fills its square, and its sign stays within the circle of 80 %.
func (b *browser) drawIcons() {
	svg, err := os.ReadFile("asset/icon.svg")
	if err != nil {
		b.Fatal(err)
	}
	for name, size := range map[string]string{"icon-192.png": "192, 1", "icon-512.png": "512, 1", "icon-mask.png": "512, 0.75"} {
		data := eval[string](b, `((size, share) => new Promise(done => {
			const canvas = Object.assign(document.createElement("canvas"), {width: size, height: size}), to = canvas.getContext("2d"), image = new Image(size, size);
			image.onload = () => {
				to.fillStyle = "#4a54c8";
				if (share < 1) to.fillRect(0, 0, size, size);
				to.drawImage(image, size * (1 - share) / 2, size * (1 - share) / 2, size * share, size * share);
				done(canvas.toDataURL("image/png").split(",")[1]);
			};
			image.src = "data:image/svg+xml;base64,`+base64.StdEncoding.EncodeToString(bytes.Replace(svg, []byte("<svg "), []byte(`<svg width="512" height="512" `), 1))+`";
		}))(`+size+`)`)
		raw, err := base64.StdEncoding.DecodeString(data)
		if err == nil {
			err = os.WriteFile("asset/"+name, raw, 0o644)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
